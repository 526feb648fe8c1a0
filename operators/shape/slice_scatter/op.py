"""Inside the block the update is read, outside x."""

from __future__ import annotations

from dinoml.ir import expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, update = c.input("x"), c.input("update")
    for axis, (a, n, d) in enumerate(zip(c["start_indices"], update.shape, x.shape)):
        end = intexpr.add(a, n)
        if not (intexpr.nonnegative(a) and intexpr.nonnegative(intexpr.add(d, intexpr.mul(-1, end)))):
            c.fail(f"axis {axis}: the block {a}:{end} is not for certain inside 0..{d}")
    return x


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    own = [intexpr.add(i, intexpr.mul(-1, a)) for i, a in zip(index, c["start_indices"])]
    inside: list[IntLike] = []
    for o, n in zip(own, c.input("update").shape):
        inside += [o, intexpr.add(intexpr.add(n, -1), intexpr.mul(-1, o))]
    return expr.select(tuple(inside), c.read("update", own), c.read("x", index))
