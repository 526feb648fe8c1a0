"""x limited to min..max; NaN stays. Bounds are numbers or tensors, one may be absent, in NumPy."""

import numpy as np


def reference(x, min, max):
    y = x if min is None else np.maximum(x, min)
    return y if max is None else np.minimum(y, max)
