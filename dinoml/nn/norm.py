"""Normalisations as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dinoml import ops
from dinoml.frontend.model import Module, Parameter


class LayerNorm(Module):
    """Layer normalisation over the trailing axes."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, dtype: str = "float32"
    ) -> None:
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Parameter(self.normalized_shape, dtype) if elementwise_affine else None
        self.bias = Parameter(self.normalized_shape, dtype) if elementwise_affine and bias else None

    def forward(self, x: Any) -> Any:
        return ops.layer_norm(x, self.weight, self.bias, eps=self.eps, normalized_shape=self.normalized_shape)


class RMSNorm(Module):
    """RMS normalisation over the last axis."""

    def __init__(self, dim: int, eps: float = 1e-6, elementwise_affine: bool = True, dtype: str = "float32") -> None:
        self.eps = eps
        self.weight = Parameter([dim], dtype) if elementwise_affine else None

    def forward(self, x: Any) -> Any:
        return ops.rms_norm(x, self.weight, eps=self.eps)


class T5LayerNorm(RMSNorm):
    """RMS normalisation under T5's name."""
