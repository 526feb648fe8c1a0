"""Permute: coordinates in another order."""

from __future__ import annotations

from dinoml.ir import expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def canonical(c: OpCall) -> dict[str, tuple[int, ...]]:
    """Count axes from the front."""
    rank = c.input("x").rank
    dims = tuple(c.axis(d, rank) for d in c["dims"])
    if sorted(dims) != list(range(rank)):
        c.fail(f"dims={c['dims']} is not a permutation of the {rank} axes")
    return {"dims": dims}


def infer(c: OpCall) -> TensorType:
    x = c.input("x")
    return TensorType(x.dtype, tuple(x.shape[d] for d in c["dims"]))


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    at = dict(zip(c["dims"], index))
    return c.read("x", [at[axis] for axis in range(len(index))])


def place(c: OpCall, i: int, index: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
    return tuple(index[d] for d in c["dims"])
