"""Concatenate, then tanh."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, inputs: list[Tensor], *, dim: int) -> Tensor:
    return b.tanh(b.concatenate(inputs, dim))  # type: ignore[no-any-return]
