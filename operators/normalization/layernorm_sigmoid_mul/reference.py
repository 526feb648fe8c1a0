"""x times the sigmoid of its layer normalisation, in NumPy."""

import numpy as np


def reference(x, weight, bias, normalized_shape, eps):
    affine = weight if weight is not None else bias
    count = len(normalized_shape) if normalized_shape is not None else affine.ndim if affine is not None else 1
    axes = tuple(range(x.ndim - count, x.ndim))
    centred = x - x.mean(axes, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    return x / (1.0 + np.exp(-y))
