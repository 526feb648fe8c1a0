"""Softmax along one axis, in NumPy."""

import numpy as np


def reference(x, dim):
    if x.size == 0:
        return x.copy()
    e = np.exp(x - np.max(x, axis=dim, keepdims=True))
    return e / np.sum(e, axis=dim, keepdims=True)
