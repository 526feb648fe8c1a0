"""The general contraction."""

from __future__ import annotations

from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def extents(c: OpCall) -> tuple[IntLike, IntLike, IntLike]:
    """Return (M, N, K); fail when the operands disagree on K."""
    a, b = c.input("a"), c.input("b")
    m, k = a.shape[-2:] if c["a_layout"] == "r" else a.shape[-1:-3:-1]
    k2, n = b.shape[-2:] if c["b_layout"] == "r" else b.shape[-1:-3:-1]
    if k != k2:
        c.fail(f"the contracted extents differ: {k} in {a} (layout {c['a_layout']}) and {k2} in {b} (layout {c['b_layout']})")
    return m, n, k


def infer(c: OpCall) -> TensorType:
    a, b = c.input("a"), c.input("b")
    m, n, _ = extents(c)
    return TensorType(a.dtype, (*c.broadcast(a.shape[:-2], b.shape[:-2]), m, n))
