"""The same attention with heads inside: views around it."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor

SWAP = (0, 2, 1, 3)


def expand(b: Builder, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, *, causal: bool) -> Tensor:
    heads = [b.permute(t, SWAP) for t in (q, k, v)]
    y = b.scaled_dot_product_attention(*heads, bias, causal=causal, enable_gqa=q.shape[2] != k.shape[2])
    return b.permute(y, SWAP)  # type: ignore[no-any-return]
