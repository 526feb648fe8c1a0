"""Squeeze: coordinates of dropped axes are 0."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def canonical(c: OpCall) -> dict[str, tuple[int, ...]]:
    """Name the axes that are removed."""
    x = c.input("x")
    if c["dim"] is None:
        return {"dim": tuple(i for i, d in enumerate(x.shape) if d == 1)}
    out = sorted({c.axis(d, x.rank) for d in c["dim"]})
    for axis in out:
        if x.shape[axis] != 1:
            c.fail(f"axis {axis} of {x} has extent {x.shape[axis]}, only axes known to be 1 can be removed")
    return {"dim": tuple(out)}


def infer(c: OpCall) -> TensorType:
    x, dropped = c.input("x"), c["dim"]
    return TensorType(x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in dropped))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    dropped, rest = c["dim"], iter(index)
    return c.read("x", [0 if axis in dropped else next(rest) for axis in range(c.input("x").rank)])


def place(c: OpCall, i: int, index: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
    return tuple(v for axis, v in enumerate(index) if axis not in c["dim"])
