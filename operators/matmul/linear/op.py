"""Linear as a product with a column-major weight."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    rows = x if x.rank > 1 else b.unsqueeze(x, 0)
    y: Tensor = b.gemm(rows, weight, b_layout="c")
    if x.rank == 1:
        y = b.squeeze(y, 0)
    return y if bias is None else y + bias
