"""Chunk: equal pieces through split; a run-time extent must be divisible for certain."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, chunks: int, dim: int) -> tuple[Tensor, ...]:
    extent = x.shape[dim]
    if isinstance(extent, int):
        return b.split(x, max(-(-extent // chunks), 1), dim)  # type: ignore[no-any-return]
    size = intexpr.floordiv(extent, chunks)
    if intexpr.mul(size, chunks) != extent and intexpr.divisor(extent) % chunks:
        raise ValueError(f"chunk: the extent {extent} is not for certain divisible by chunks={chunks}; give the Dim divisible_by={chunks}")
    return b.split(x, [size] * chunks, dim)  # type: ignore[no-any-return]
