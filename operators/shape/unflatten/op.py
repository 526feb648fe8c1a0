"""Unflatten as a reshape."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim: int, sizes: tuple[IntLike, ...]) -> Tensor:
    known = intexpr.product(s for s in sizes if s != -1)
    if known == 0:
        raise ValueError(f"unflatten: sizes={sizes} contain 0")
    full = [intexpr.floordiv(x.shape[dim], known) if s == -1 else s for s in sizes]
    return b.reshape(x, (*x.shape[:dim], *full, *x.shape[dim + 1 :]))  # type: ignore[no-any-return]
