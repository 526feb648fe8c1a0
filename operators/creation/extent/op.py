"""A shape expression as a value."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    return TensorType(c["dtype"], ())


def define(c: OpCall, index: tuple[object, ...]) -> expr.Expr:
    value = c["value"]
    return expr.typed_const(value, c["dtype"]) if isinstance(value, int) else expr.Index(value, c["dtype"])
