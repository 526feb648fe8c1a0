"""Transpose as a permutation."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim0: int, dim1: int) -> Tensor:
    dims = list(range(x.rank))
    dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return b.permute(x, tuple(dims))  # type: ignore[no-any-return]
