"""Tensors one after another along an axis, in NumPy."""

import numpy as np


def reference(inputs, dim):
    return np.concatenate(inputs, axis=dim)
