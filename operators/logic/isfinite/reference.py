"""True where x is neither NaN nor an infinity, in NumPy."""

import numpy as np


def reference(x0):
    return np.isfinite(x0)
