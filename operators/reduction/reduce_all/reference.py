"""Whether all elements over axes hold, in NumPy."""

import numpy as np


def reference(x, dim, keepdim):
    return np.all(x, axis=tuple(dim), keepdims=keepdim)
