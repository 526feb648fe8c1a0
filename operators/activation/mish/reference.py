"""x * tanh(softplus(x)), in NumPy."""

import numpy as np


def reference(x0):
    return x0 * np.tanh(np.logaddexp(0.0, x0))
