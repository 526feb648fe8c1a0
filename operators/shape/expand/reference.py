"""x broadcast to a larger shape, in NumPy."""

import numpy as np


def reference(x, shape):
    own = (1,) * (len(shape) - x.ndim) + x.shape
    return np.broadcast_to(x, [own[i] if d == -1 else d for i, d in enumerate(shape)]).copy()
