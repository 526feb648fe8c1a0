"""A product with a packed right operand, in NumPy."""

import numpy as np


def reference(a, b, a_layout, columns):
    left = a if a_layout == "r" else np.swapaxes(a, -1, -2)
    wide = np.moveaxis(b, -3, -2)
    right = wide.reshape(*wide.shape[:-2], wide.shape[-2] * wide.shape[-1])[..., :columns]
    return np.matmul(left, right)
