"""x where x > 0, else alpha * (exp(x) - 1), in NumPy."""

import numpy as np


def reference(x0, alpha):
    return np.where(x0 > 0, x0, alpha * np.expm1(x0))
