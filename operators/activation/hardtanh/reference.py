"""x limited to min_value..max_value, in NumPy."""

import numpy as np


def reference(x0, min_value, max_value):
    return np.minimum(np.maximum(x0, min_value), max_value)
