"""Concatenation: the input is chosen by where the coordinate falls."""

from __future__ import annotations

from dinoml.ir import expr, intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    first, dim = c.present[0], c["dim"]
    total: IntLike = 0
    for k, t in enumerate(c.present):
        if t.rank != first.rank or any(a != b for i, (a, b) in enumerate(zip(t.shape, first.shape)) if i != dim):
            c.fail(f"input {k} is {t}, input 0 is {first}: extents may differ only along dim={dim}")
        total = intexpr.add(total, t.shape[dim])
    return TensorType(first.dtype, (*first.shape[:dim], total, *first.shape[dim + 1 :]))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    dim = c["dim"]
    starts: list[IntLike] = [0]
    for t in c.present:
        starts.append(intexpr.add(starts[-1], t.shape[dim]))
    out: expr.Expr | None = None
    for k in reversed(range(len(c.present))):
        own = intexpr.add(index[dim], intexpr.mul(-1, starts[k]))
        value = c.read(k, (*index[:dim], own, *index[dim + 1 :]))
        before = intexpr.add(intexpr.add(starts[k + 1], -1), intexpr.mul(-1, index[dim]))  # the coordinate lies before the next input
        out = value if out is None else expr.select((before,), value, out)
    assert out is not None
    return out
