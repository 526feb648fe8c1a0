"""Repeat: coordinate i reads i // repeats."""

from __future__ import annotations

from dinoml.ir import expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, dim = c.input("x"), c["dim"]
    return TensorType(x.dtype, (*x.shape[:dim], intexpr.mul(x.shape[dim], c["repeats"]), *x.shape[dim + 1 :]))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    dim = c["dim"]
    return c.read("x", (*index[:dim], intexpr.floordiv(index[dim], c["repeats"]), *index[dim + 1 :]))
