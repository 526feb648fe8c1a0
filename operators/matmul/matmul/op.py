"""Matmul: vectors become matrices, then one gemm."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b_: Builder, a: Tensor, b: Tensor) -> Tensor:
    left = b_.unsqueeze(a, 0) if a.rank == 1 else a
    right = b_.unsqueeze(b, 1) if b.rank == 1 else b
    y: Tensor = b_.gemm(left, right)
    if a.rank == 1:
        y = b_.squeeze(y, -2)
    return b_.squeeze(y, -1) if b.rank == 1 else y
