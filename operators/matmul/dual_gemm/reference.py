"""A gated product, in NumPy."""

import numpy as np


def reference(a, b0, b1, bias0, bias1, activation):
    y = a @ b0.T + (0.0 if bias0 is None else bias0)
    gate = a @ b1.T + (0.0 if bias1 is None else bias1)
    tanh_gelu = 0.5 * y * (1.0 + np.tanh(0.7978845608028654 * (y + 0.044715 * y**3)))
    values = {
        "relu": np.maximum(y, 0.0),
        "gelu": tanh_gelu,
        "fast_gelu": tanh_gelu,
        "quick_gelu": y / (1.0 + np.exp(-1.702 * y)),
        "sigmoid": 1.0 / (1.0 + np.exp(-y)),
        "tanh": np.tanh(y),
        "silu": y / (1.0 + np.exp(-y)),
        "hardswish": y * np.clip(y + 3.0, 0.0, 6.0) / 6.0,
        "elup1": np.where(y >= 0, y + 1.0, np.exp(np.minimum(y, 0.0))),
    }
    return values[activation] * gate
