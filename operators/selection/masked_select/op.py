"""Masked select: a vector with a run-time extent, and that extent."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> list[TensorType]:
    x = c.input("x")
    full = c.broadcast(x.shape, c.input("mask").shape)
    return [TensorType(x.dtype, (c.extent("count", intexpr.product(full)),)), TensorType("int64", ())]
