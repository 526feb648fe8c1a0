"""Convolution, then pointwise operators that fusion attaches to it."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(
    b: Builder, x: Tensor, weight: Tensor, bias: Tensor | None, residual: Tensor | None, *, activation: str, **window: tuple[int, ...] | int
) -> Tensor:
    y: Tensor = b.conv2d(x, weight, bias, **window)
    y = y if residual is None else y + residual
    return b.relu(y) if activation == "relu" else y
