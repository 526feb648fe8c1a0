"""x0 - floor(x0 / x1) * x1, with the sign of x1; 0 for integers where x1 is 0, in NumPy."""

import numpy as np


def reference(x0, x1):
    if np.issubdtype(x0.dtype, np.integer):
        return np.where(x1 == 0, 0, np.mod(x0, np.where(x1 == 0, 1, x1)))
    return np.mod(x0, x1)
