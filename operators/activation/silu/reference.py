"""x * sigmoid(x), in NumPy."""

import numpy as np


def _sigmoid(x):
    return np.exp(-np.logaddexp(0.0, -x))


def reference(x0):
    return x0 * _sigmoid(x0)
