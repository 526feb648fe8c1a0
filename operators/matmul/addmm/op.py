"""A product scaled and added; beta 0 ignores `input`, NaN included."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b_: Builder, input: Tensor, a: Tensor, b: Tensor, *, beta: float, alpha: float) -> Tensor:
    y: Tensor = b_.gemm(a, b)
    y = y if alpha == 1 else y * alpha
    if beta == 0:
        return y
    return y + (input if beta == 1 else input * beta)
