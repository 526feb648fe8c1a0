"""Sliding windows over the last two axes: the index maps that pooling and convolution share."""

from __future__ import annotations

from dataclasses import dataclass

from dinoml.ir import intexpr
from dinoml.ir.expr import Conditions
from dinoml.ir.intexpr import IntLike


@dataclass(frozen=True)
class Window:
    """Kernel size, stride, padding and dilation per axis, for an input of `size`."""

    size: tuple[IntLike, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    def source(self, out: tuple[IntLike, ...], tap: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
        """Return the input position under kernel tap `tap` of output position `out`."""
        return tuple(
            intexpr.add(intexpr.add(intexpr.mul(o, s), intexpr.mul(t, d)), -p)
            for o, t, s, p, d in zip(out, tap, self.stride, self.padding, self.dilation)
        )

    def inside(self, position: tuple[IntLike, ...]) -> Conditions:
        """Return the conditions (>= 0) under which a position lies in the input."""
        out: list[IntLike] = []
        for i, n in zip(position, self.size):
            out += [i, intexpr.add(intexpr.add(n, -1), intexpr.mul(-1, i))]
        return tuple(c for c in out if not intexpr.nonnegative(c))
