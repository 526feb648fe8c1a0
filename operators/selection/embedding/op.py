"""Embedding: the row is a run-time index."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    table, indices = c.input("table"), c.input("indices")
    return TensorType(table.dtype, (*indices.shape, table.shape[1]))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    row = c.runtime_index("indices", index[:-1], c.input("table").shape[0])
    return c.read("table", (row, index[-1]))
