"""max(x, 0), in NumPy."""

import numpy as np


def reference(x0):
    return np.maximum(x0, 0)
