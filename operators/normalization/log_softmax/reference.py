"""Log-softmax along one axis, in NumPy."""

import numpy as np


def reference(x, dim):
    if x.size == 0:
        return x.copy()
    shifted = x - np.max(x, axis=dim, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=dim, keepdims=True))
