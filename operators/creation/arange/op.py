"""Arange: start + step * i."""

from __future__ import annotations

import math
from typing import Any

from dinoml.ir import dtypes, expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def _bounds(c: OpCall) -> tuple[Any, Any, Any]:
    start, end, step = c["start"], c["end"], c["step"]
    if end is None:
        start, end = 0, start
    for label, value in (("start", start), ("end", end)):
        if isinstance(value, bool) or not isinstance(value, (int, float, intexpr.IntExpr)):
            c.fail(f"{label} must be a number or an expression of Dims, got {value!r}")
    if step == 0:
        c.fail("step must not be 0")
    return start, end, step


def infer(c: OpCall) -> TensorType:
    start, end, step = _bounds(c)
    kind = dtypes.DTYPES[c["dtype"]].kind
    if kind == "bool":
        c.fail("dtype bool is not accepted; use an integer or float dtype")
    symbolic = any(isinstance(v, intexpr.IntExpr) for v in (start, end))
    if (symbolic or kind == "int") and not all(isinstance(v, (int, intexpr.IntExpr)) for v in (start, end, step)):
        c.fail(f"start={start}, end={end}, step={step} must be integers for dtype {c['dtype']} or bounds with Dims")
    if not symbolic and not all(isinstance(v, int) for v in (start, end, step)):
        return TensorType(c["dtype"], (max(0, math.ceil((end - start) / step)),))
    gap = intexpr.add(end, intexpr.mul(-1, start)) if step > 0 else intexpr.add(start, intexpr.mul(-1, end))
    return TensorType(c["dtype"], (intexpr.ceildiv(intexpr.maximum(0, gap), abs(step)),))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    start, _, step = _bounds(c)
    dt = dtypes.compute_dtype(c["dtype"])
    if isinstance(start, (int, intexpr.IntExpr)) and isinstance(step, int):
        return expr.Index(intexpr.add(start, intexpr.mul(step, index[0])), dt)
    scaled = expr.call("mul", expr.Index(index[0], dt), expr.typed_const(step, dt))
    return expr.call("add", scaled, expr.typed_const(start, dt))
