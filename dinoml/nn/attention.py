"""Attention and feed-forward blocks of transformer encoders and decoders."""

from __future__ import annotations

from typing import Any

from dinoml import ops
from dinoml.frontend.model import Module
from dinoml.nn.linear import Linear


class SelfAttention(Module):
    """Multi-head self-attention over [B, S, dim]; `mask` broadcasts to [B, heads, S, S] (bool: where to attend; float: added)."""

    def __init__(self, dim: int, heads: int, bias: bool = True, causal: bool = False, key_heads: int | None = None, dtype: str = "float32") -> None:
        if dim % heads:
            raise ValueError(f"SelfAttention: dim={dim} is not a multiple of heads={heads}")
        self.heads, self.key_heads, self.depth, self.causal = heads, key_heads or heads, dim // heads, causal
        self.query = Linear(dim, dim, bias, dtype)
        self.key = Linear(dim, self.key_heads * self.depth, bias, dtype)
        self.value = Linear(dim, self.key_heads * self.depth, bias, dtype)
        self.output = Linear(dim, dim, bias, dtype)

    def _split(self, x: Any, heads: int) -> Any:
        return x.reshape(x.shape[0], x.shape[1], heads, self.depth).permute(0, 2, 1, 3)

    def forward(self, x: Any, mask: Any = None) -> Any:
        q = self._split(self.query(x), self.heads)
        k = self._split(self.key(x), self.key_heads)
        v = self._split(self.value(x), self.key_heads)
        y = ops.scaled_dot_product_attention(q, k, v, mask, causal=self.causal, enable_gqa=self.key_heads != self.heads)
        return self.output(y.permute(0, 2, 1, 3).reshape(x.shape))


class FeedForward(Module):
    """Two linear layers with an activation between them, named by its operator."""

    def __init__(self, dim: int, hidden: int, activation: str = "gelu", bias: bool = True, dtype: str = "float32", **options: Any) -> None:
        self.up, self.down = Linear(dim, hidden, bias, dtype), Linear(hidden, dim, bias, dtype)
        self.activation, self.options = activation, options

    def forward(self, x: Any) -> Any:
        return self.down(getattr(ops, self.activation)(self.up(x), **self.options))
