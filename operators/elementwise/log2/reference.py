"""The logarithm to base 2, in NumPy."""

import numpy as np


def reference(x0):
    return np.log2(x0)
