"""Slice: coordinate i of an axis reads start + i * step."""

from __future__ import annotations

from dinoml.ir import expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import Binary, IntLike
from dinoml.operators import OpCall


def canonical(c: OpCall) -> dict[str, tuple[int, ...]]:
    """Write out the steps."""
    return {"step": c["step"] if c["step"] is not None else (1,) * c.input("x").rank}


def _at_most(a: IntLike, b: IntLike) -> bool:
    """Return whether a <= b for certain; min(a, b) as slicing writes it counts."""
    if isinstance(a, Binary) and a.op == "min" and (_at_most(a.a, b) or _at_most(a.b, b)):
        return True
    if isinstance(a, Binary) and a.op == "max":
        return _at_most(a.a, b) and _at_most(a.b, b)
    return intexpr.nonnegative(intexpr.add(b, intexpr.mul(-1, a)))


def infer(c: OpCall) -> TensorType:
    x = c.input("x")
    out: list[IntLike] = []
    for axis, (a, b, s, d) in enumerate(zip(c["start"], c["stop"], c["step"], x.shape)):
        low, high = (a, b) if s > 0 else (intexpr.add(b, 1), intexpr.add(a, 1))
        inside = _at_most(high, d) and (intexpr.nonnegative(low) or (isinstance(low, Binary) and low.op == "max" and 0 in (low.a, low.b)))
        if not inside and low != high:
            c.fail(f"axis {axis}: {a}:{b}:{s} is not for certain inside 0..{d} of {x}; bound the Dims")
        gap = intexpr.add(high, intexpr.mul(-1, low))
        out.append(intexpr.ceildiv(intexpr.maximum(0, gap), abs(s)))
    return TensorType(x.dtype, c.shape(out))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    return c.read("x", [intexpr.add(a, intexpr.mul(s, i)) for a, s, i in zip(c["start"], c["step"], index)])
