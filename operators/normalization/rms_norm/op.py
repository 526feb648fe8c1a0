"""RMS normalisation, then the weight, which fusion attaches."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, weight: Tensor | None, *, eps: float) -> Tensor:
    y: Tensor = b.rms_normalize(x, dim=-1, eps=eps)
    return y if weight is None else y * weight
