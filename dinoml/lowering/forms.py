"""Forms: how a kernel operator describes itself to the compiler.

An operator's `lower.py` returns a Form: which template, over which coordinates, reading and writing what. Coordinates are
`outer` ones, which the compiler may merge or split to fit the template's slots, and a fixed `tail` per port. Nothing here
knows an operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dinoml.ir import intexpr, shapes
from dinoml.ir.expr import Conditions, Expr
from dinoml.ir.intexpr import IntLike, Symbol
from dinoml.ir.shapes import Shape


def coordinates(prefix: str, extents: Iterable[IntLike]) -> tuple[Symbol, ...]:
    """Return one coordinate symbol per extent, 0 <= symbol < extent."""
    return tuple(Symbol(f"{prefix}{i}", extent=e) for i, e in enumerate(extents))


@dataclass(frozen=True)
class Load:
    """A port through which the template reads `value` at `index` (expressions over outer and tail coordinates).

    accepts: "generic" (any fused expression), "strided" (a pointer and one stride per coordinate; what is not affine is copied
    first) or "packed" (a constant in the template's stored form). evaluations: "once" (each element once: may have side
    outputs), "few" or "many" (recomputation: only cheap expressions are fused).
    """

    name: str
    value: str
    index: tuple[IntLike, ...]
    tail: tuple[Symbol, ...]
    accepts: str = "generic"
    evaluations: str = "few"
    guard: Conditions = ()
    dtype: str | None = None  # the compute dtype the template wants; None keeps the value's own
    fill: float | int | bool = 0  # the value outside `guard`


@dataclass(frozen=True)
class Store:
    """A port through which the template writes result `output` (its position) at `index`; `dtype` is that of the values it hands over.

    `expr` turns the template's value, Input("value", dtype), into the result's; None takes it as it is.
    """

    name: str
    output: int
    index: tuple[IntLike, ...]
    tail: tuple[Symbol, ...]
    dtype: str = "float32"
    expr: Expr | None = None


@dataclass(frozen=True)
class Map:
    """A port in the middle of a template: `expr` maps Input("value") at outer and tail coordinates; None is the identity."""

    name: str
    expr: Expr | None
    tail: tuple[Symbol, ...]


@dataclass(frozen=True)
class Form:
    """One kernel call: template, extents, ports in the template's order, compile-time parameters, run-time scalars."""

    template: str
    outer: tuple[Symbol, ...]
    ports: tuple[Load | Store | Map, ...]
    tail: tuple[IntLike, ...]  # extents of the template's own dims, after the outer slots
    params: tuple[tuple[str, Any], ...] = ()
    scalars: tuple[tuple[str, float | IntLike], ...] = ()  # further fields of the dims struct, in order
    outer_slots: int = 3
    reduction: IntLike = 1  # length of the longest sum behind one result, for tolerances
    flops: IntLike = 0
    extents: tuple[str, ...] = field(default=())  # run-time extent dims that the template reports, in order

    @property
    def loads(self) -> tuple[Load, ...]:
        return tuple(p for p in self.ports if isinstance(p, Load))

    @property
    def stores(self) -> tuple[Store, ...]:
        return tuple(p for p in self.ports if isinstance(p, Store))


def linear(index: Sequence[IntLike], shape: Shape) -> IntLike:
    """Return the offset of an index in a contiguous tensor."""
    total: IntLike = 0
    for i, s in zip(index, shapes.row_major(shape)):
        total = intexpr.add(total, intexpr.mul(i, s))
    return intexpr.recombine(total)


def delinearise(offset: IntLike, shape: Shape) -> tuple[IntLike, ...]:
    """Return the index of an offset in a contiguous tensor."""
    out: list[IntLike] = []
    for axis, (extent, stride) in enumerate(zip(shape, shapes.row_major(shape))):
        q = intexpr.floordiv(offset, stride) if stride != 0 else 0
        out.append(q if axis == 0 else intexpr.mod(q, extent) if extent != 0 else 0)
    return tuple(out)


@dataclass(frozen=True)
class RowForm:
    """Canonical coordinates of an operator that reduces or normalises over some axes of one tensor.

    form "rows": outer axes, then the reduced index (the vector dimension). form "columns": outer axes, the reduced index, then
    the trailing kept axes merged into one vector dimension.
    """

    form: str
    outer: tuple[Symbol, ...]
    tail: tuple[Symbol, ...]
    index: tuple[IntLike, ...]  # of the full tensor
    kept: tuple[IntLike, ...]  # index of a result without the reduced axes
    reduce: IntLike

    @property
    def store_tail(self) -> tuple[Symbol, ...]:
        """Tail coordinates of a reduced result: the reduced one stands still."""
        return (Symbol("r", extent=1), *self.tail[1:])

    @property
    def slots(self) -> int:
        return 3 if self.form == "rows" else 2


def row_form(shape: Shape, axes: Sequence[int]) -> RowForm:
    """Return the canonical coordinates for reducing `axes` (normalised, any order) of a tensor of `shape`."""
    axes = sorted(set(axes))
    rank = len(shape)
    last = axes[-1] if axes else rank - 1
    inner_axes = list(range(last + 1, rank)) if axes else []
    outer_axes = [a for a in range(rank) if a not in axes and a not in inner_axes]
    reduce_shape = tuple(shape[a] for a in axes)
    reduce_extent = intexpr.product(reduce_shape)
    r = Symbol("r", extent=reduce_extent)
    outer = tuple(Symbol(f"o{i}", extent=shape[a]) for i, a in enumerate(outer_axes))
    inner_extent = intexpr.product(shape[a] for a in inner_axes)
    rows = inner_extent == 1
    i = Symbol("i", extent=inner_extent)
    where: dict[int, IntLike] = dict(zip(axes, delinearise(r, reduce_shape)))
    where.update(zip(outer_axes, outer))
    inner = (0,) * len(inner_axes) if rows else delinearise(i, tuple(shape[a] for a in inner_axes))
    where.update(zip(inner_axes, inner))
    index = tuple(where[a] for a in range(rank))
    kept = tuple(where[a] for a in range(rank) if a not in axes)
    return RowForm("rows" if rows else "columns", outer, (r,) if rows else (r, i), index, kept, reduce_extent)
