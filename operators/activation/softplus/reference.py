"""log(1 + exp(x)), written so that it neither overflows nor loses small values, in NumPy."""

import numpy as np


def reference(x0):
    return np.logaddexp(0.0, x0)
