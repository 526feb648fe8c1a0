"""tanh of a concatenation, in NumPy."""

import numpy as np


def reference(inputs, dim):
    return np.tanh(np.concatenate(inputs, axis=dim))
