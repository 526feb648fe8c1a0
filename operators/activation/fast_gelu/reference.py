"""0.5 * x * (1 + tanh(0.7978845608 * x * (1 + 0.044715 * x * x))), in NumPy."""

import numpy as np


def reference(x0):
    return 0.5 * x0 * (1.0 + np.tanh(0.7978845608 * (x0 + 0.044715 * x0**3)))
