"""A matrix product with an epilogue, in NumPy."""

import numpy as np


def _activate(y, name):
    match name:
        case "relu":
            return np.maximum(y, 0.0)
        case "gelu" | "fast_gelu":
            return 0.5 * y * (1.0 + np.tanh(0.7978845608028654 * (y + 0.044715 * y**3)))
        case "quick_gelu":
            return y / (1.0 + np.exp(-1.702 * y))
        case "sigmoid":
            return 1.0 / (1.0 + np.exp(-y))
        case "tanh":
            return np.tanh(y)
        case "swish":
            return y / (1.0 + np.exp(-y))
        case "hardswish":
            return y * np.clip(y + 3.0, 0.0, 6.0) / 6.0
        case "elup1":
            return np.where(y >= 0, y + 1.0, np.exp(np.minimum(y, 0.0)))
    return y


def reference(a, b, bias, d0, d1, b_layout, epilogue):
    y = a @ (b.T if b_layout == "c" else b)
    if bias is not None:
        y = y + bias
    match epilogue:
        case "add":
            return y + d0
        case "add_relu":
            return np.maximum(y + d0, 0.0)
        case "add_add":
            return y + d0 + d1
        case "add_add_relu":
            return np.maximum(y + d0 + d1, 0.0)
        case "mul":
            return y * d0
        case "mul_add":
            return y * d0 + d1
        case "mul_tanh":
            return np.tanh(y * d0)
        case "sigmoid_mul":
            return _activate(y, "sigmoid") * d0
        case "sigmoid_mul_tanh":
            return np.tanh(_activate(y, "sigmoid") * d0)
    return _activate(y, epilogue)
