"""The standard deviation over axes, in NumPy."""

import numpy as np


def reference(x, dim, keepdim, unbiased):
    return np.std(x, axis=tuple(dim), keepdims=keepdim, ddof=1 if unbiased else 0)
