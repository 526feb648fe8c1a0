"""Slices of x along an axis, in NumPy."""

import numpy as np


def reference(x, indices, dim):
    return np.take(x, indices, axis=dim)
