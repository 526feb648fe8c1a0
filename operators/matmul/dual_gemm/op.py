"""A gated product: two contractions and a pointwise product."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, a: Tensor, b0: Tensor, b1: Tensor, bias0: Tensor | None, bias1: Tensor | None, *, activation: str) -> Tensor:
    left: Tensor = b.linear(a, b0, bias0)
    right: Tensor = b.linear(a, b1, bias1)
    return getattr(b, activation)(left) * right  # type: ignore[no-any-return]
