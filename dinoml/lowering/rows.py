"""Forms of operators that work on rows: reductions, and maps that need a whole row for each element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dinoml.ir import dtypes
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.forms import Form, Load, RowForm, Store, row_form
from dinoml.operators import OpCall

Params = tuple[tuple[str, Any], ...]


def _extents(f: RowForm) -> tuple[IntLike, ...]:
    return tuple(s.extent for s in f.tail)  # type: ignore[misc]


def reduce_form(c: OpCall, axes: Sequence[int], op: str, keepdim: bool, result: str | None = None) -> Form:
    """Return the form of a reduction by `op` (a type of csrc/kernels/cpu/reduce.h); `result` is the dtype it hands over."""
    x = c.input(0)
    f = row_form(x.shape, axes)
    kept = iter(f.kept)
    index = tuple(0 if a in axes else next(kept) for a in range(x.rank)) if keepdim else f.kept
    compute = dtypes.compute_dtype(x.dtype)
    return Form(
        template="reduce",
        outer=f.outer,
        ports=(
            Load("x", c.names[0], f.index, f.tail, evaluations="once"),
            Store("y", 0, index, f.store_tail, dtype=result or compute),
        ),
        tail=_extents(f),
        params=(("form", f.form), ("op", op)),
        outer_slots=f.slots,
        reduction=f.reduce,
        flops=x.numel,
    )


def rowwise_form(c: OpCall, axes: Sequence[int], template: str, params: Params = (), scalars: tuple[tuple[str, float], ...] = ()) -> Form:
    """Return the form of an operator whose result has the shape of its input and needs the whole row for each element."""
    x = c.input(0)
    f = row_form(x.shape, axes)
    return Form(
        template=template,
        outer=f.outer,
        ports=(
            Load("x", c.names[0], f.index, f.tail, evaluations="once", dtype="float32"),
            Store("y", 0, f.index, f.tail),
        ),
        tail=_extents(f),
        params=(("form", f.form), *params),
        scalars=scalars,
        outer_slots=f.slots,
        reduction=f.reduce,
        flops=x.numel,
    )
