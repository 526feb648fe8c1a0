"""x0 shifted right by x1 bits, the sign is kept, in NumPy."""

import numpy as np


def reference(x0, x1):
    return np.right_shift(x0, x1)
