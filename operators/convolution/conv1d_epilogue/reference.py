"""1-D convolution as a sum over kernel positions, in NumPy."""

import numpy as np


def reference(x, weight, bias, residual, stride, padding, dilation, groups, activation):
    out, per_group, k = weight.shape
    padded = np.pad(x, [(0, 0), (0, 0), (padding[0], padding[0])])
    length = (padded.shape[2] - dilation[0] * (k - 1) - 1) // stride[0] + 1
    y = np.zeros((x.shape[0], out, length))
    for o in range(out):
        g = o // (out // groups)
        for i in range(k):
            at = i * dilation[0]
            taps = padded[:, g * per_group : (g + 1) * per_group, at : at + stride[0] * (length - 1) + 1 : stride[0]]
            y[:, o] += np.einsum("ncl,c->nl", taps, weight[o, :, i])
    y = y if bias is None else y + bias[:, None]
    y = y if residual is None else y + residual
    return np.maximum(y, 0.0) if activation == "relu" else y
