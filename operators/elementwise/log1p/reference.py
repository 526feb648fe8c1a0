"""log(1 + x), accurate near 0, in NumPy."""

import numpy as np


def reference(x0):
    return np.log1p(x0)
