"""One half times the sigmoid of the other, in NumPy."""

import numpy as np


def reference(x, dim):
    a, b = np.split(x, 2, axis=dim)
    return a / (1.0 + np.exp(-b))
