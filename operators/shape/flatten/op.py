"""Flatten as a reshape."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.graph import axis_of
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, start_dim: int, end_dim: int) -> Tensor:
    rank = max(x.rank, 1)
    start, end = axis_of(start_dim, rank, "flatten: start_dim"), axis_of(end_dim, rank, "flatten: end_dim")
    if start > end:
        raise ValueError(f"flatten: start_dim={start_dim} lies behind end_dim={end_dim}")
    return b.reshape(x, (*x.shape[:start], intexpr.product(x.shape[start : end + 1]), *x.shape[end + 1 :]))  # type: ignore[no-any-return]
