"""Add, then layer normalisation; both are results."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, residual: Tensor, weight: Tensor | None, bias: Tensor | None, *, eps: float) -> tuple[Tensor, Tensor]:
    total = x + residual
    return total, b.layer_norm(total, weight, bias, eps=eps, normalized_shape=total.shape[-1:])
