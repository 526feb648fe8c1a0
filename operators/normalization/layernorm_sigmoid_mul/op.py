"""Layer normalisation as a gate."""

from __future__ import annotations

from dinoml.ir.intexpr import IntLike
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, weight: Tensor | None, bias: Tensor | None, *, normalized_shape: tuple[IntLike, ...] | None, eps: float) -> Tensor:
    return x * b.sigmoid(b.layer_norm(x, weight, bias, eps=eps, normalized_shape=normalized_shape))  # type: ignore[no-any-return]
