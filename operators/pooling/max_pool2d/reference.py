"""The largest element of each window of [N, C, H, W]; NaN propagates, padding counts as -inf, in NumPy."""

import numpy as np


def _size(extent, k, s, p, d, ceil_mode):
    room = extent + 2 * p - d * (k - 1) - 1
    size = (-(-room // s) if ceil_mode else room // s) + 1
    return size - 1 if ceil_mode and (size - 1) * s >= extent + p else size


def reference(x, kernel_size, stride, padding, dilation, ceil_mode):
    n, c, h, w = x.shape
    sizes = [_size(e, *v, ceil_mode) for e, v in zip((h, w), zip(kernel_size, stride, padding, dilation))]
    y = np.full((n, c, *sizes), -np.inf)
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            rows = [r for a in range(kernel_size[0]) if 0 <= (r := i * stride[0] - padding[0] + a * dilation[0]) < h]
            columns = [q for a in range(kernel_size[1]) if 0 <= (q := j * stride[1] - padding[1] + a * dilation[1]) < w]
            if rows and columns:
                y[:, :, i, j] = x[:, :, rows][:, :, :, columns].max((2, 3))
    return y
