"""Sines and cosines of time steps, in NumPy."""

import numpy as np


def reference(timesteps, embedding_dim, flip_sin_to_cos, downscale_freq_shift, scale, max_period):
    half = embedding_dim // 2
    frequency = np.exp(-np.log(max_period) * np.arange(half) / max(half - downscale_freq_shift, 1e-30)) if half else np.zeros(0)
    angle = timesteps.astype(np.float64)[:, None] * frequency * scale
    parts = [np.cos(angle), np.sin(angle)] if flip_sin_to_cos else [np.sin(angle), np.cos(angle)]
    y = np.concatenate(parts, axis=1)
    return np.pad(y, [(0, 0), (0, embedding_dim - y.shape[1])])
