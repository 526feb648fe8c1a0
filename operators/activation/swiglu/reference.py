"""silu of one half times the other, in NumPy."""

import numpy as np


def reference(x):
    a, b = np.split(x, 2, axis=-1)
    return a / (1.0 + np.exp(-a)) * b
