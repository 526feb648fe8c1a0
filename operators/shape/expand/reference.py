"""x broadcast to a larger shape, in NumPy."""

import numpy as np


def reference(x, shape):
    return np.broadcast_to(x, shape).copy()
