"""A block as a slice."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, start_indices: tuple[IntLike, ...], slice_sizes: tuple[IntLike, ...]) -> Tensor:
    stop = tuple(intexpr.add(a, n) for a, n in zip(start_indices, slice_sizes))
    return b.slice(x, start_indices, stop)  # type: ignore[no-any-return]
