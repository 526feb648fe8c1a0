"""The nearest integer, halves to the even one, in NumPy."""

import numpy as np


def reference(x0):
    return np.rint(x0)
