"""Elements of x along one axis, in NumPy."""

import numpy as np


def reference(x, index, dim):
    own = x[tuple(slice(None) if i == dim else slice(0, n) for i, n in enumerate(index.shape))]
    return np.take_along_axis(own, index, axis=dim)
