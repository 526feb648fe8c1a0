"""Layer normalisation, in NumPy."""

import numpy as np


def reference(x, weight, bias, eps, normalized_shape):
    affine = weight if weight is not None else bias
    count = len(normalized_shape) if normalized_shape is not None else affine.ndim if affine is not None else 1
    axes = tuple(range(x.ndim - count, x.ndim))
    if x.size == 0:
        return x.copy()
    centred = x - x.mean(axes, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias
