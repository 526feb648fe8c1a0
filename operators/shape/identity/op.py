"""The same element at the same index."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    return c.input("x")


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    return c.read("x", index)


def place(c: OpCall, i: int, index: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
    return index
