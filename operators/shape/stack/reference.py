"""Tensors of one shape along a new axis, in NumPy."""

import numpy as np


def reference(inputs, dim):
    return np.stack(inputs, axis=dim)
