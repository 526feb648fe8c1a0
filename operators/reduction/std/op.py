"""The square root of the variance, in float32."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim: tuple[int, ...], keepdim: bool, unbiased: bool) -> Tensor:
    wide = x if x.dtype == "float32" else b.cast(x, "float32")
    y = b.sqrt(b.var(wide, dim=dim, keepdim=keepdim, unbiased=unbiased))
    return y if x.dtype == "float32" else b.cast(y, x.dtype)  # type: ignore[no-any-return]
