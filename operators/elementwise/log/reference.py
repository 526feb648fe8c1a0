"""The natural logarithm, in NumPy."""

import numpy as np


def reference(x0):
    return np.log(x0)
