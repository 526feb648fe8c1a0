"""Variance in two passes: the second works on residuals, so nothing cancels."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim: tuple[int, ...], keepdim: bool, unbiased: bool) -> Tensor:
    wide = x if x.dtype == "float32" else b.cast(x, "float32")
    n = intexpr.product(x.shape[d] for d in dim)
    residual = wide - b.reduce_mean(wide, dim=dim, keepdim=True)
    squares = b.reduce_sum(residual * residual, dim=dim, keepdim=keepdim)
    rest = b.reduce_sum(residual, dim=dim, keepdim=keepdim)  # 0 but for rounding of the mean
    total = squares - rest * rest / b.extent(n, dtype="float32")
    y: Tensor = total / b.extent(intexpr.add(n, -1) if unbiased else n, dtype="float32")
    return y if x.dtype == "float32" else b.cast(y, x.dtype)
