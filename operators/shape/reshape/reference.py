"""The same elements in another shape, in NumPy."""

import numpy as np


def reference(x, shape):
    if -1 in shape and x.size == 0:
        known = int(np.prod([d for d in shape if d != -1]))
        shape = tuple((x.size // known if known else 0) if d == -1 else d for d in shape)
    return x.reshape(shape)
