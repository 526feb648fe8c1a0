"""Pixel unshuffle: reshape, permute, reshape."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, downscale_factor: int) -> Tensor:
    n, c, h, w = x.shape
    high, wide = intexpr.floordiv(h, downscale_factor), intexpr.floordiv(w, downscale_factor)
    parts = b.reshape(x, (n, c, high, downscale_factor, wide, downscale_factor))
    parts = b.permute(parts, (0, 1, 3, 5, 2, 4))
    return b.reshape(parts, (n, intexpr.mul(c, downscale_factor**2), high, wide))  # type: ignore[no-any-return]
