"""x * x, in NumPy."""

import numpy as np


def reference(x0):
    return np.square(x0)
