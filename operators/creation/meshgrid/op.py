"""Meshgrid: each vector along its axis, expanded over the others."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, inputs: list[Tensor], *, indexing: str) -> tuple[Tensor, ...]:
    if any(x.rank != 1 for x in inputs):
        raise ValueError(f"meshgrid: takes vectors, got {', '.join(str(x.type) for x in inputs)}")
    axes = list(range(len(inputs)))
    if indexing == "xy" and len(axes) > 1:
        axes[:2] = [1, 0]
    shape = [inputs[axes[i]].shape[0] for i in range(len(axes))]  # the exchange is its own inverse
    grids = []
    for x, axis in zip(inputs, axes):
        line = b.reshape(x, tuple(x.shape[0] if i == axis else 1 for i in range(len(axes))))
        grids.append(b.expand(line, tuple(shape)))
    return tuple(grids)
