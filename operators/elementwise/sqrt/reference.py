"""The square root, in NumPy."""

import numpy as np


def reference(x0):
    return np.sqrt(x0)
