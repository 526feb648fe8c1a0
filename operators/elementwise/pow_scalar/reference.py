"""x ** exponent for a number; whole and half exponents up to 4 avoid pow, in NumPy."""

import numpy as np


def reference(x, exponent):
    return np.power(x, float(exponent))
