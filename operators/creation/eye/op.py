"""Eye: the two coordinates compared."""

from __future__ import annotations

from dinoml.ir import dtypes, expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    return TensorType(c["dtype"], c.shape((c["n"], c["m"])))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    dt = dtypes.compute_dtype(c["dtype"])
    below, above = (intexpr.add(a, intexpr.mul(-1, b)) for a, b in (index, index[::-1]))
    return expr.select((below, above), expr.typed_const(1, dt), expr.typed_const(0, dt))
