"""The hyperbolic tangent, in NumPy."""

import numpy as np


def reference(x0):
    return np.tanh(x0)
