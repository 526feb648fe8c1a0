"""[N, C*r*r, H, W] to [N, C, H*r, W*r], in NumPy."""

import numpy as np


def reference(x, upscale_factor):
    n, c, h, w = x.shape
    r = upscale_factor
    y = np.zeros((n, c // (r * r), h * r, w * r), x.dtype)
    for i in range(r):
        for j in range(r):
            y[:, :, i::r, j::r] = x[:, i * r + j :: r * r]
    return y
