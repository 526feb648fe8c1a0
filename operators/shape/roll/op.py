"""Roll: two slices exchanged."""

from __future__ import annotations

from dinoml.ir.graph import axis_of
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    for shift, dim in zip(shifts, dims):
        axis = axis_of(dim, x.rank, "roll")
        extent = x.shape[axis]
        if not isinstance(extent, int):
            raise ValueError(f"roll: axis {axis} has the run-time extent {extent}; only fixed extents can be rolled")
        cut = -shift % extent if extent else 0
        if cut:
            head, tail = b.split(x, [cut, extent - cut], axis)
            x = b.concatenate([tail, head], axis)
    return x
