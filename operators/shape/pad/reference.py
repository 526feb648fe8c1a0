"""x surrounded by a constant, in NumPy."""

import numpy as np


def reference(x, pad, value):
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    return np.pad(x, pairs, constant_values=value)
