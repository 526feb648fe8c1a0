"""Pad: inside the old extents x is read, outside the constant."""

from __future__ import annotations

from dinoml.ir import dtypes, expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def _pairs(c: OpCall) -> list[tuple[IntLike, IntLike]]:
    pad = c["pad"]
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (c.input("x").rank - len(pairs)) + pairs[::-1]


def infer(c: OpCall) -> TensorType:
    x = c.input("x")
    if dtypes.DTYPES[x.dtype].kind != "float" and c["value"] != int(c["value"]):
        c.fail(f"value={c['value']!r} does not fit dtype {x.dtype}")
    return TensorType(x.dtype, c.shape([intexpr.add(d, intexpr.add(a, z)) for d, (a, z) in zip(x.shape, _pairs(c))]))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    x = c.input("x")
    own = [intexpr.add(i, intexpr.mul(-1, before)) for i, (before, _) in zip(index, _pairs(c))]
    inside: list[IntLike] = []
    for o, d in zip(own, x.shape):
        inside += [o, intexpr.add(intexpr.add(d, -1), intexpr.mul(-1, o))]
    return expr.select(tuple(inside), c.read("x", own), expr.typed_const(c["value"], dtypes.compute_dtype(x.dtype)))
