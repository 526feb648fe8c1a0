"""Small models for the profile tests."""

from __future__ import annotations

import numpy as np

import dinoml
from dinoml import ops


class Linear(dinoml.Module):
    """One matrix product with bias and activation."""

    def __init__(self, width: int = 48, layers: int = 1) -> None:
        rng = np.random.default_rng(7)
        self.weights = [dinoml.Parameter(rng.standard_normal((width, width)).astype(np.float32) / 8, name=f"w{i}") for i in range(layers)]

    def forward(self, x: dinoml.Tensor) -> dinoml.Tensor:
        for w in self.weights:
            x = ops.relu(ops.gemm_rcr(x, w))
        return x


def linear_spec(batch: object = 4, *, width: int = 48, layers: int = 1, name: str = "linear") -> dinoml.ModelSpec:
    """Return a traced stack of layers."""
    return dinoml.trace(Linear(width, layers), {"x": dinoml.TensorSpec([batch, width])}, name=name)
