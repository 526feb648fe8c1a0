"""(x - mean) / sqrt(variance + eps) over axes, in NumPy."""

import numpy as np


def reference(x, dim, eps):
    if x.size == 0:
        return x.copy()
    mean = np.mean(x, axis=tuple(dim), keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=tuple(dim), keepdims=True)
    return (x - mean) / np.sqrt(variance + eps)
