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


def reduce_form(c: OpCall, axes: Sequence[int], params: Params, keepdim: bool, result: str | None = None) -> Form:
    """Return the form of a reduction (`op` in params is a type of the template); `result` is the dtype it hands over."""
    x = c.input(0)
    f = row_form(x.shape, axes)
    kept = iter(f.kept)
    index = tuple(0 if a in axes else next(kept) for a in range(x.rank)) if keepdim else f.kept
    load = Load("x", c.names[0], f.index, f.tail, evaluations="once")
    return _form(c, f, "reduce", (load, Store("y", 0, index, f.store_tail, dtype=result or dtypes.compute_dtype(x.dtype))), params)


def rowwise_form(c: OpCall, axes: Sequence[int], template: str, params: Params = (), scalars: tuple[tuple[str, float], ...] = ()) -> Form:
    """Return the form of an operator whose result has the shape of its input and needs the whole row for each element."""
    f = row_form(c.input(0).shape, axes)
    load = Load("x", c.names[0], f.index, f.tail, evaluations="once", dtype="float32")
    return _form(c, f, template, (load, Store("y", 0, f.index, f.tail)), params, scalars)


def _form(c: OpCall, f: RowForm, template: str, ports: tuple[Load, Store], params: Params, scalars: tuple[tuple[str, float], ...] = ()) -> Form:
    return Form(
        template=template,
        outer=f.outer,
        ports=ports,
        tail=_extents(f),
        params=(("form", f.form), *params),
        scalars=scalars,
        outer_slots=f.slots,
        reduction=f.reduce,
        flops=c.input(0).numel,
    )


def declared_form(c: OpCall) -> Form:
    """Return the form that the spec's `kernel` key declares: `{form: reduce | rowwise, template, params, scalars, result}`.

    The axes are the attribute `dim`; `scalars` names float attributes. Raises KeyError for a form that does not exist.
    """
    k = c.spec.kernel
    dims = c["dim"]
    axes = dims if isinstance(dims, tuple) else (dims,)
    params: Params = tuple((k.get("params") or {}).items())
    if k["form"] == "reduce":
        return reduce_form(c, axes, params, bool(c["keepdim"]), k.get("result"))
    if k["form"] == "rowwise":
        return rowwise_form(c, axes, k["template"], params, tuple((name, float(c[name])) for name in k.get("scalars") or ()))
    raise KeyError(f"{c.spec.path}: kernel.form {k['form']!r} is not one of reduce, rowwise")
