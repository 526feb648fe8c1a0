"""x shifted around, in NumPy."""

import numpy as np


def reference(x, shifts, dims):
    return np.roll(x, shifts, dims)
