"""x * min(max(x + 3, 0), 6) / 6, in NumPy."""

import numpy as np


def reference(x0):
    return x0 * np.clip(x0 + 3.0, 0.0, 6.0) / 6.0
