"""Unbind as slices."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.call import OperatorError
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim: int) -> tuple[Tensor, ...]:
    extent = x.shape[dim]
    if not isinstance(extent, int):
        raise OperatorError(f"unbind: the extent {extent} of axis {dim} is known only at run time")
    return tuple(b.squeeze(piece, dim) for piece in b.split(x, 1, dim))
