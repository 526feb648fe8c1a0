"""The Gaussian error linear unit, exact or with the tanh approximation, in NumPy."""

import math

import numpy as np


def reference(x0, approximation):
    if approximation == "none":
        return 0.5 * x0 * (1.0 + np.vectorize(math.erf, otypes=[np.float64])(x0 / math.sqrt(2.0)))
    return 0.5 * x0 * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x0 + 0.044715 * x0**3)))
