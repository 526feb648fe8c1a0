"""Flip: coordinate i reads extent - 1 - i."""

from __future__ import annotations

from dinoml.ir import expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def _map(c: OpCall, index: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
    shape = c.input("x").shape
    return tuple(intexpr.add(intexpr.add(shape[a], -1), intexpr.mul(-1, i)) if a in c["dims"] else i for a, i in enumerate(index))


def infer(c: OpCall) -> TensorType:
    return c.input("x")


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    return c.read("x", _map(c, index))


def place(c: OpCall, i: int, index: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
    return _map(c, index)
