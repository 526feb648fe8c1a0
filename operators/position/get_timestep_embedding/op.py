"""Angles by broadcasting, then sines and cosines side by side."""

from __future__ import annotations

import math

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(
    b: Builder,
    timesteps: Tensor,
    *,
    embedding_dim: int,
    flip_sin_to_cos: bool,
    downscale_freq_shift: float,
    scale: float,
    max_period: float,
) -> Tensor:
    half = embedding_dim // 2
    if half == 0:
        return b.zeros((timesteps.shape[0], embedding_dim), "float32")  # type: ignore[no-any-return]
    frequency = b.exp(b.arange(half, dtype="float32") * (-math.log(max_period) / max(half - downscale_freq_shift, 1e-30)))
    angle = b.unsqueeze(b.cast(timesteps, "float32"), 1) * frequency * scale
    parts = [b.sin(angle), b.cos(angle)]
    y = b.concatenate(parts[::-1] if flip_sin_to_cos else parts, 1)
    return b.pad(y, (0, 1)) if embedding_dim % 2 else y  # type: ignore[no-any-return]
