"""The position of the largest element, in NumPy."""

import numpy as np


def reference(x, dim, keepdim):
    if x.size == 0:
        shape = [1 if i == dim else d for i, d in enumerate(x.shape) if keepdim or i != dim]
        return np.zeros(shape, np.int64)
    return np.argmax(x, axis=dim, keepdims=keepdim).astype(np.int64)
