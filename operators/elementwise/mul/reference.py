"""x0 * x1, in NumPy."""

import numpy as np


def reference(x0, x1):
    return np.multiply(x0, x1)
