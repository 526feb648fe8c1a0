"""The largest element is taken out first; where it is not finite it is the result."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    wide = x if x.dtype == "float32" else b.cast(x, "float32")
    top = b.reduce_max(wide, dim=dim, keepdim=True)
    y = b.log(b.reduce_sum(b.exp(wide - b.where(b.isfinite(top), top, 0.0)), dim=dim, keepdim=True)) + top
    y = b.where(b.isfinite(top), y, top)
    y = y if keepdim else b.squeeze(y, dim)
    return y if x.dtype == "float32" else b.cast(y, x.dtype)  # type: ignore[no-any-return]
