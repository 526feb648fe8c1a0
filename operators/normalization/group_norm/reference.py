"""Group normalisation, in NumPy."""

import numpy as np


def reference(x, weight, bias, num_groups, eps, channels_first, activation):
    y = x if channels_first else np.moveaxis(x, -1, 1)
    grouped = y.reshape(y.shape[0], num_groups, -1)
    centred = grouped - grouped.mean(-1, keepdims=True)
    y = (centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)).reshape(y.shape)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    y = y if weight is None else y * weight.reshape(shape)
    y = y if bias is None else y + bias.reshape(shape)
    y = y / (1.0 + np.exp(-y)) if activation == "swish" else y
    return y if channels_first else np.moveaxis(y, 1, -1)
