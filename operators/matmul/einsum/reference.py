"""Einstein summation, in NumPy."""

import numpy as np


def reference(a, b, equation):
    return np.einsum(equation, *([a] if b is None else [a, b]))
