"""Attention over packed [B, S, 3, H, D], in NumPy."""

import numpy as np


def reference(qkv, causal):
    q, k, v = (qkv[:, :, i] for i in range(3))
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), v)
