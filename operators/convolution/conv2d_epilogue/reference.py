"""2-D convolution with an epilogue, in NumPy."""

import numpy as np


def reference(x, weight, bias, residual, stride, padding, dilation, groups, activation):
    n, _, _, _ = x.shape
    out, per_group, kh, kw = weight.shape
    padded = np.pad(x, [(0, 0), (0, 0), (padding[0], padding[0]), (padding[1], padding[1])])
    high = (padded.shape[2] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    wide = (padded.shape[3] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.zeros((n, out, high, wide))
    for g in range(groups):
        own = slice(g * out // groups, (g + 1) * out // groups)
        block = padded[:, g * per_group : (g + 1) * per_group]
        for i in range(kh):
            for j in range(kw):
                rows = slice(i * dilation[0], i * dilation[0] + stride[0] * (high - 1) + 1, stride[0])
                columns = slice(j * dilation[1], j * dilation[1] + stride[1] * (wide - 1) + 1, stride[1])
                y[:, own] += np.einsum("nchw,oc->nohw", block[:, :, rows, columns], weight[own, :, i, j])
    y = y if bias is None else y + bias[:, None, None]
    y = y if residual is None else y + residual
    return np.maximum(y, 0.0) if activation == "relu" else y
