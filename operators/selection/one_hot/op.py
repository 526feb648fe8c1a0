"""One-hot: the coordinate compared with the number."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    return TensorType("int64", c.shape((*c.input("x").shape, c["num_classes"])))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    x = c.read("x", index[:-1])
    return expr.cast(expr.call("eq", x, expr.Index(index[-1], x.dtype)), "int64")
