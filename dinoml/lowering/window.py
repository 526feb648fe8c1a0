"""Sliding windows over the last two axes: the index maps that pooling and convolution share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dinoml.ir import expr as ex
from dinoml.ir import intexpr
from dinoml.ir.expr import Conditions
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike, Symbol
from dinoml.lowering.forms import Form, Load, Store, coordinates
from dinoml.operators import OpCall


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


def window_form(
    c: OpCall, y: TensorType, op: str, window: Window, fill: float, divide: Callable[[tuple[IntLike, ...]], IntLike | None] | None = None
) -> Form:
    """Return the form of a reduction by `op` over windows of an input [N, C, H, W]; elements outside count as `fill`.

    `divide(output position)` gives the number that the reduced value is divided by.
    """
    n, channels, *out = y.shape
    at = coordinates("o", (n, channels, out[0]))
    taps = window.kernel[0] * window.kernel[1]
    r, i = Symbol("r", extent=taps), Symbol("i", extent=out[1])
    tap = (intexpr.floordiv(r, window.kernel[1]), intexpr.mod(r, window.kernel[1]))
    position = window.source((at[2], i), tap)
    by = divide((at[2], i)) if divide else None
    value = ex.Input("value", "float32")
    scaled = None if by is None else ex.call("div", value, ex.Const(float(by), "float32") if isinstance(by, int) else ex.Index(by, "float32"))
    return Form(
        template="reduce",
        outer=at,
        ports=(
            Load("x", c.names[0], (at[0], at[1], *position), (r, i), guard=window.inside(position), fill=fill, dtype="float32"),
            Store("y", 0, (*at, i), (Symbol("r", extent=1), i), expr=scaled),
        ),
        tail=(taps, out[1]),
        params=(("form", "columns"), ("op", op)),
        outer_slots=2,
        reduction=taps,
        flops=intexpr.mul(y.numel, taps),
    )
