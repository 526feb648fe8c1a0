"""x padded along the last axis, in NumPy."""

import numpy as np


def reference(x, left, right, value):
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(left, right)], constant_values=value)
