"""exp(x) - 1, accurate near 0, in NumPy."""

import numpy as np


def reference(x0):
    return np.expm1(x0)
