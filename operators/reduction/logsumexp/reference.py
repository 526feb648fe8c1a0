"""log(sum(exp(x))) over axes, in NumPy."""

import numpy as np


def reference(x, dim, keepdim):
    top = np.max(x, axis=tuple(dim), keepdims=True)
    y = np.log(np.sum(np.exp(x - top), axis=tuple(dim), keepdims=True)) + top
    return y if keepdim else np.squeeze(y, tuple(dim))
