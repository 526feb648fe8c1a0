"""NaN and infinities replaced by numbers, in NumPy."""

import numpy as np


def reference(x0, nan_replacement, posinf_replacement, neginf_replacement):
    return np.where(np.isnan(x0), nan_replacement, np.where(x0 == np.inf, posinf_replacement, np.where(x0 == -np.inf, neginf_replacement, x0)))
