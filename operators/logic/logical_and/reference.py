"""and of two bools, elementwise, in NumPy."""

import numpy as np


def reference(x0, x1):
    return np.logical_and(x0, x1)
