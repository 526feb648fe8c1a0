"""GLU."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, dim: int) -> Tensor:
    value, gate = b.chunk(x, 2, dim)
    return value * b.sigmoid(gate)  # type: ignore[no-any-return]
