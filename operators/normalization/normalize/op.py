"""Normalize: divide by the norm, which is never taken below eps."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, p: float, dim: tuple[int, ...], eps: float) -> Tensor:
    wide = x if x.dtype == "float32" else b.cast(x, "float32")
    y: Tensor = wide / b.max(b.vector_norm(wide, dim=dim, keepdim=True, ord=p), eps)
    return y if x.dtype == "float32" else b.cast(y, x.dtype)
