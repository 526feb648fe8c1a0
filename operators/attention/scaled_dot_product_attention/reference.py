"""Attention over [B, H, S, D], in NumPy."""

import numpy as np


def reference(q, k, v, mask, causal, scale, enable_gqa):
    if enable_gqa:
        k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
        v = np.repeat(v, q.shape[1] // v.shape[1], axis=1)
    scores = q @ k.swapaxes(-1, -2) * (scale if scale is not None else q.shape[-1] ** -0.5)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -np.inf)
    if scores.shape[-1] == 0:
        return np.zeros((*scores.shape[:-1], v.shape[-1]))
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    total = weights.sum(-1, keepdims=True)
    return weights @ v / np.where(total == 0, 1.0, total)
