"""x divided by its norm, in NumPy."""

import numpy as np


def reference(x, p, dim, eps):
    size = {1.0: lambda: np.abs(x).sum(tuple(dim), keepdims=True), 2.0: lambda: np.sqrt((x * x).sum(tuple(dim), keepdims=True))}
    norm = size[p]() if p in size else np.abs(x).max(tuple(dim), keepdims=True)
    return x / np.maximum(norm, eps)
