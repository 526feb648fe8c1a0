"""Reshape, then slice_scatter."""

from __future__ import annotations

from dinoml.ir.intexpr import IntLike
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, update: Tensor, *, start_indices: tuple[IntLike, ...], slice_shape: tuple[IntLike, ...]) -> Tensor:
    return b.slice_scatter(x, b.reshape(update, slice_shape), start_indices)  # type: ignore[no-any-return]
