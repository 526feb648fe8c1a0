"""Masked select as a compaction; the number of results is reported as a run-time extent."""

from __future__ import annotations

from typing import Any

from dinoml.ir import dtypes, intexpr
from dinoml.ir.intexpr import Symbol
from dinoml.lowering.forms import Form, Load, Store, delinearise
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    x = c.input("x")
    full = c.broadcast(x.shape, c.input("mask").shape)
    n = intexpr.product(full)
    i = Symbol("i", extent=n)
    at = delinearise(i, full)
    return Form(
        template="compact",
        outer=(),
        ports=(
            Load("x", c.names[0], c.broadcast_read("x", at, full).index, (i,), evaluations="once"),
            Load("mask", c.names[1], c.broadcast_read("mask", at, full).index, (i,), evaluations="once"),
            Store("y", 0, (i,), (i,), dtype=dtypes.compute_dtype(x.dtype)),
            Store("count", 1, (), (Symbol("one", extent=1),), dtype="int64"),
        ),
        tail=(n,),
        outer_slots=3,
    )
