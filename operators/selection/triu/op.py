"""Triu: kept where the coordinates are on and above the diagonal."""

from __future__ import annotations

from dinoml.ir import dtypes, expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    return c.input("x")


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    kept = intexpr.add(index[-1], intexpr.mul(-1, intexpr.add(index[-2], c["diagonal"])))
    x = c.input("x")
    return expr.select((kept,), c.read("x", index), expr.typed_const(0, dtypes.compute_dtype(x.dtype)))
