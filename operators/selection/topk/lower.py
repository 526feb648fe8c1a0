"""The k largest or smallest along an axis as a row kernel with two results."""

from __future__ import annotations

from typing import Any

from dinoml.ir import dtypes
from dinoml.ir.intexpr import Symbol
from dinoml.lowering.forms import Form, Load, Store
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    x, axis, k = c.input("x"), c["dim"], c["k"]
    outer = tuple(Symbol(f"o{a}", extent=e) for a, e in enumerate(x.shape) if a != axis)
    r, j = Symbol("r", extent=x.shape[axis]), Symbol("j", extent=k)
    others = iter(outer)
    index = [r if a == axis else next(others) for a in range(x.rank)]
    place = tuple(j if a == axis else s for a, s in enumerate(index))
    return Form(
        template="topk",
        outer=outer,
        ports=(
            Load("x", c.names[0], tuple(index), (r,), evaluations="once"),
            Store("values", 0, place, (j,), dtype=dtypes.compute_dtype(x.dtype)),
            Store("indices", 1, place, (j,), dtype="int64"),
        ),
        tail=(r.extent,),  # type: ignore[arg-type]
        params=(("largest", bool(c["largest"])),),
        scalars=(("k", k),),
        flops=x.numel,
    )
