"""Linspace as a scaled range."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, *, start: float, end: float, steps: int, dtype: str) -> Tensor:
    y = b.arange(steps, dtype="float32") * ((end - start) / max(steps - 1, 1)) + start
    return y if dtype == "float32" else b.cast(y, dtype)  # type: ignore[no-any-return]
