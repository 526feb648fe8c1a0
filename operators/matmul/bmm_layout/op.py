"""Batched products: a column-major result is the product of the transposed operands in the other order."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor

OTHER = {"r": "c", "c": "r"}


def expand(b_: Builder, a: Tensor, b: Tensor, d0: Tensor | None, *, a_layout: str, b_layout: str, c_layout: str) -> Tensor:
    if c_layout == "r":
        y: Tensor = b_.gemm(a, b, a_layout=a_layout, b_layout=b_layout)
    else:
        y = b_.gemm(b, a, a_layout=OTHER[b_layout], b_layout=OTHER[a_layout])
    return y if d0 is None else y + d0
