"""Index select: one coordinate is a run-time index."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, dim = c.input("x"), c["dim"]
    return TensorType(x.dtype, (*x.shape[:dim], c.input("indices").shape[0], *x.shape[dim + 1 :]))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    dim = c["dim"]
    chosen = c.runtime_index("indices", (index[dim],), c.input("x").shape[dim])
    return c.read("x", (*index[:dim], chosen, *index[dim + 1 :]))
