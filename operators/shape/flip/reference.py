"""x reversed along axes, in NumPy."""

import numpy as np


def reference(x, dims):
    return np.flip(x, dims).copy()
