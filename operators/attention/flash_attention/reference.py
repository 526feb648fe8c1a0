"""Attention over [B, S, H, D], in NumPy."""

import numpy as np


def reference(q, k, v, bias, causal):
    share = q.shape[2] // k.shape[2]
    scores = np.einsum("bqhd,bkhd->bhqk", q, np.repeat(k, share, axis=2)) / np.sqrt(q.shape[-1])
    scores = scores if bias is None else scores + bias
    if causal:
        scores = np.where(np.tri(scores.shape[-2], scores.shape[-1], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), np.repeat(v, share, axis=2))
