"""The contraction with a packed constant."""

from __future__ import annotations

from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    a, b = c.input("a"), c.input("b")
    m, k = a.shape[-2:] if c["a_layout"] == "r" else a.shape[-1:-3:-1]
    c.same(k, b.shape[-2], "the contracted extents differ")
    return TensorType(a.dtype, (*c.broadcast(a.shape[:-2], b.shape[:-3]), m, c["columns"]))
