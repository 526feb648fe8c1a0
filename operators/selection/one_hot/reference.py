"""1 at the position that x names, in NumPy."""

import numpy as np


def reference(x, num_classes):
    return (x[..., None] == np.arange(num_classes)).astype(np.int64)
