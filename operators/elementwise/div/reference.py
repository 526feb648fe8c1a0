"""x0 / x1; integers are cast to a float dtype first by the user, in NumPy."""

import numpy as np


def reference(x0, x1):
    return np.divide(x0, x1)
