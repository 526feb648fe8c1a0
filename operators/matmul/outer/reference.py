"""The outer product, in NumPy."""

import numpy as np


def reference(a, b):
    return np.outer(a, b)
