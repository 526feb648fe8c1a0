"""x + 1 where x >= 0, else exp(x), in NumPy."""

import numpy as np


def reference(x0):
    return np.where(x0 >= 0, x0 + 1.0, np.exp(np.minimum(x0, 0.0)))
