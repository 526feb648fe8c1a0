"""The error function, in NumPy."""

import math

import numpy as np


def reference(x0):
    return np.vectorize(math.erf, otypes=[np.float64])(x0)
