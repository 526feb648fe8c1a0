"""-1, 0 or 1; NaN stays NaN, in NumPy."""

import numpy as np


def reference(x0):
    return np.sign(x0)
