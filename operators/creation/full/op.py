"""The same literal at every index."""

from __future__ import annotations

from dinoml.ir import dtypes, expr
from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    value, dtype = c["fill_value"], c["dtype"]
    if dtypes.DTYPES[dtype].kind == "int" and value != int(value):
        c.fail(f"fill_value={value!r} is not an integer, dtype is {dtype}")
    return TensorType(dtype, c.shape(c["shape"]))


def define(c: OpCall, index: tuple[object, ...]) -> expr.Expr:
    return expr.typed_const(c["fill_value"], dtypes.compute_dtype(c["dtype"]))
