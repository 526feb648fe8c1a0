"""Expand: axes of extent 1 are read at 0."""

from __future__ import annotations

from dinoml.ir import expr, shapes
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def canonical(c: OpCall) -> dict[str, shapes.Shape]:
    """Replace -1 by the extent that is kept."""
    x, target = c.input("x"), c["shape"]
    new = len(target) - x.rank
    if new < 0:
        c.fail(f"cannot expand {shapes.show(x.shape)} to {shapes.show(target)}: fewer axes")
    out: list[IntLike] = []
    for axis, d in enumerate(target):
        own = x.shape[axis - new] if axis >= new else 1
        keep = isinstance(d, int) and d == -1
        if (keep and axis < new) or not (keep or d == own or own == 1):
            c.fail(f"cannot expand {shapes.show(x.shape)} to {shapes.show(target)}: axis {axis} is {own}")
        out.append(own if keep else d)
    return {"shape": c.shape(out)}


def infer(c: OpCall) -> TensorType:
    return TensorType(c.input("x").dtype, c["shape"])


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    return c.broadcast_read("x", index, c["shape"])
