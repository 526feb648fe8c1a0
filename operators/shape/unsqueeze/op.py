"""Unsqueeze: the coordinate of the new axis is dropped."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, dim = c.input("x"), c["dim"]
    return TensorType(x.dtype, (*x.shape[:dim], 1, *x.shape[dim:]))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    dim = c["dim"]
    return c.read("x", (*index[:dim], *index[dim + 1 :]))


def place(c: OpCall, i: int, index: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
    dim = c["dim"]
    return (*index[:dim], 0, *index[dim:])
