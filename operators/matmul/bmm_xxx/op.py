"""Layouts by letters."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b_: Builder, a: Tensor, b: Tensor, d0: Tensor | None, *, layout: str | None, a_layout: str, b_layout: str, c_layout: str) -> Tensor:
    x, y, z = tuple(layout or a_layout + b_layout + c_layout)
    return b_.bmm_layout(a, b, d0, a_layout=x, b_layout=y, c_layout=z)  # type: ignore[no-any-return]
