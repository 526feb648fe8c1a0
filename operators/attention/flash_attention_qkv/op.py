"""Packed attention: three slices."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, qkv: Tensor, *, causal: bool) -> Tensor:
    return b.flash_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], causal=causal)  # type: ignore[no-any-return]
