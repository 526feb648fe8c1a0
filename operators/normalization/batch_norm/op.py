"""Batch normalisation as one scale and one shift, which are constants where the statistics are."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, *, eps: float) -> Tensor:
    def wide(t: Tensor) -> Tensor:
        return t if t.dtype == "float32" else b.cast(t, "float32")

    scale = b.rsqrt(wide(var) + eps)
    scale = scale if weight is None else scale * wide(weight)
    shift = -wide(mean) * scale
    shift = shift if bias is None else shift + wide(bias)
    shape = (1, x.shape[1], *(1 for _ in x.shape[2:]))
    y = wide(x) * b.reshape(scale, shape) + b.reshape(shift, shape)
    return y if x.dtype == "float32" else b.cast(y, x.dtype)  # type: ignore[no-any-return]
