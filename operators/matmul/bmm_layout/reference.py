"""A batched matrix product, in NumPy."""

import numpy as np


def reference(a, b, d0, a_layout, b_layout, c_layout):
    left = a if a_layout == "r" else a.transpose(0, 2, 1)
    right = b if b_layout == "r" else b.transpose(0, 2, 1)
    y = np.matmul(left, right)
    y = y if c_layout == "r" else y.transpose(0, 2, 1)
    return y if d0 is None else y + d0
