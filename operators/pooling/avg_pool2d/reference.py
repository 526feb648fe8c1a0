"""The mean of each window of [N, C, H, W], in NumPy."""

import numpy as np


def _size(extent, k, s, p, ceil_mode):
    room = extent + 2 * p - k
    size = (-(-room // s) if ceil_mode else room // s) + 1
    return size - 1 if ceil_mode and (size - 1) * s >= extent + p else size


def reference(x, kernel_size, stride, padding, ceil_mode, count_include_pad):
    n, c, h, w = x.shape
    sizes = [_size(e, *v, ceil_mode) for e, v in zip((h, w), zip(kernel_size, stride, padding))]
    y = np.zeros((n, c, *sizes))
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            top, left = i * stride[0] - padding[0], j * stride[1] - padding[1]
            bottom, right = min(top + kernel_size[0], h + padding[0]), min(left + kernel_size[1], w + padding[1])
            window = x[:, :, max(top, 0) : min(bottom, h), max(left, 0) : min(right, w)]
            count = (bottom - top) * (right - left) if count_include_pad else window.shape[2] * window.shape[3]
            y[:, :, i, j] = window.sum((2, 3)) / count
    return y
