"""The mean of each window, in NumPy."""

import numpy as np


def reference(x, kernel_size, stride, padding, ceil_mode, count_include_pad):
    (k,), (s,), (p,) = kernel_size, stride, padding
    length = x.shape[2]
    starts = [i for i in range(-p, length + p, s) if i + k <= length + p or (ceil_mode and i < length)]
    columns = []
    for a in starts:
        window = x[:, :, max(a, 0) : min(a + k, length)]
        columns.append(window.sum(2) / (min(a + k, length + p) - a if count_include_pad else window.shape[2]))
    return np.stack(columns, axis=2)
