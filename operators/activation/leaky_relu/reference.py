"""x where x > 0, else x * negative_slope, in NumPy."""

import numpy as np


def reference(x0, negative_slope):
    return np.where(x0 > 0, x0, x0 * negative_slope)
