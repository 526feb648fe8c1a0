"""Pixel shuffle: reshape, permute, reshape."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, upscale_factor: int) -> Tensor:
    n, c, h, w = x.shape
    out = intexpr.floordiv(c, upscale_factor**2)
    parts = b.reshape(x, (n, out, upscale_factor, upscale_factor, h, w))
    parts = b.permute(parts, (0, 1, 4, 2, 5, 3))
    return b.reshape(parts, (n, out, intexpr.mul(h, upscale_factor), intexpr.mul(w, upscale_factor)))  # type: ignore[no-any-return]
