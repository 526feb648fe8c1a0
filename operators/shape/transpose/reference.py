"""Two axes exchanged, in NumPy."""

import numpy as np


def reference(x, dim0, dim1):
    return np.swapaxes(x, dim0, dim1)
