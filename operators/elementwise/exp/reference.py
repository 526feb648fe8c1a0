"""e to the power x, in NumPy."""

import numpy as np


def reference(x0):
    return np.exp(x0)
