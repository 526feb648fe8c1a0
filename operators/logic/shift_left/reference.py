"""x0 * 2**x1 by shifting bits, in NumPy."""

import numpy as np


def reference(x0, x1):
    return np.left_shift(x0, x1)
