"""Repeat: coordinate i reads i % extent."""

from __future__ import annotations

from dinoml.ir import expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, repeats = c.input("x"), c["repeats"]
    own = (1,) * (len(repeats) - x.rank) + x.shape
    return TensorType(x.dtype, tuple(intexpr.mul(d, r) for d, r in zip(own, repeats)))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    x, repeats = c.input("x"), c["repeats"]
    own = index[len(index) - x.rank :]
    times = repeats[len(repeats) - x.rank :]
    return c.read("x", [i if r == 1 or d == 0 else intexpr.mod(i, d) for i, d, r in zip(own, x.shape, times)])
