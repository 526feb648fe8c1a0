"""Each element several times in a row, in NumPy."""

import numpy as np


def reference(x, repeats, dim):
    return np.repeat(x, repeats, axis=dim)
