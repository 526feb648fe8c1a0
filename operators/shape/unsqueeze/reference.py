"""x with a new axis of extent 1, in NumPy."""

import numpy as np


def reference(x, dim):
    return np.expand_dims(x, dim)
