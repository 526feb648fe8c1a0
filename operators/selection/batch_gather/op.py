"""Batch gather: the second coordinate is a run-time index."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, indices = c.input("x"), c.input("indices")
    batch = c.same(x.shape[0], indices.shape[0], "batch")
    return TensorType(x.dtype, (batch, indices.shape[1], *x.shape[2:]))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    chosen = c.runtime_index("indices", index[:2], c.input("x").shape[1])
    return c.read("x", (index[0], chosen, *index[2:]))
