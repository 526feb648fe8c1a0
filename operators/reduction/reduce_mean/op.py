"""Mean: a sum divided by the number of elements, which may be known only at run time."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim: tuple[int, ...], keepdim: bool) -> Tensor:
    wide = x if x.dtype == "float32" else b.cast(x, "float32")  # a float16 sum may overflow where the mean does not
    total = b.reduce_sum(wide, dim=dim, keepdim=keepdim)
    count = b.extent(intexpr.product(x.shape[d] for d in dim), dtype="float32")
    mean: Tensor = total / count
    return mean if x.dtype == "float32" else b.cast(mean, x.dtype)
