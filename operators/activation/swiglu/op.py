"""SwiGLU."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor) -> Tensor:
    gate, value = b.chunk(x, 2, -1)
    return b.silu(gate) * value  # type: ignore[no-any-return]
