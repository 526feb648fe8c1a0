"""Activations as modules."""

from __future__ import annotations

from typing import Any

from dinoml import ops
from dinoml.frontend.model import Module


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: Any) -> Any:
        return ops.relu(x)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: Any) -> Any:
        return ops.silu(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Any) -> Any:
        return ops.sigmoid(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x: Any) -> Any:
        return ops.tanh(x)


class GELU(Module):
    """The Gaussian error linear unit: approximate is "tanh" or "none" (exact)."""

    def __init__(self, approximate: str = "tanh") -> None:
        self.approximate = approximate

    def forward(self, x: Any) -> Any:
        return ops.gelu(x, approximation=self.approximate)


class Softmax(Module):
    """Softmax along one axis, the last where none is given."""

    def __init__(self, dim: int | None = None) -> None:
        self.dim = -1 if dim is None else dim

    def forward(self, x: Any) -> Any:
        return ops.softmax(x, dim=self.dim)
