"""Vector norms from reductions, in float32."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim: tuple[int, ...], keepdim: bool, ord: float) -> Tensor:
    wide = x if x.dtype == "float32" else b.cast(x, "float32")
    if ord == 1:
        y = b.reduce_sum(b.abs(wide), dim=dim, keepdim=keepdim)
    elif ord == 2:
        y = b.sqrt(b.reduce_sum(wide * wide, dim=dim, keepdim=keepdim))
    else:
        y = b.reduce_max(b.abs(wide), dim=dim, keepdim=keepdim)
    return y if x.dtype == "float32" else b.cast(y, x.dtype)  # type: ignore[no-any-return]
