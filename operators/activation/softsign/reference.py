"""x / (1 + |x|), in NumPy."""

import numpy as np


def reference(x0):
    return x0 / (1.0 + np.abs(x0))
