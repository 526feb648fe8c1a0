"""Gather: one coordinate is a run-time index."""

from __future__ import annotations

from dinoml.ir import expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, index, dim = c.input("x"), c.input("index"), c["dim"]
    for axis, (own, wanted) in enumerate(zip(x.shape, index.shape)):
        if axis != dim and not intexpr.nonnegative(intexpr.add(own, intexpr.mul(-1, wanted))):
            c.fail(f"axis {axis}: index has extent {wanted}, x only {own}")
    return TensorType(x.dtype, index.shape)


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    dim = c["dim"]
    chosen = c.runtime_index("index", index, c.input("x").shape[dim])
    return c.read("x", (*index[:dim], chosen, *index[dim + 1 :]))
