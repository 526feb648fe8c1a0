"""x / sqrt(mean(x * x) + eps) over axes, in NumPy."""

import numpy as np


def reference(x, dim, eps):
    if x.size == 0:
        return x.copy()
    return x / np.sqrt(np.mean(x * x, axis=tuple(dim), keepdims=True) + eps)
