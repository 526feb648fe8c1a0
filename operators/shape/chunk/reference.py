"""x in pieces of equal size, in NumPy."""

import numpy as np


def reference(x, chunks, dim):
    size = max(-(-x.shape[dim] // chunks), 1)
    return tuple(np.split(x, list(range(size, x.shape[dim], size)), axis=dim))
