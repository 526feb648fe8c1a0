"""The cosine of radians, in NumPy."""

import numpy as np


def reference(x0):
    return np.cos(x0)
