"""Lowered kernels: templates whose ports are accessors over at most four coordinates.

Reads in these expressions are flat: one offset into a contiguous buffer. The same objects are rendered by dinoml/codegen
and executed by dinoml/lowering/execute.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dinoml.ir import expr as ex
from dinoml.ir.expr import Conditions, Expr, Read
from dinoml.ir.intexpr import IntLike, Symbol

SLOTS = 4


def slot_symbols(extents: tuple[IntLike, ...]) -> tuple[Symbol, ...]:
    """Return the kernel coordinates c0..c3 with their extents."""
    return tuple(Symbol(f"c{i}", extent=e) for i, e in enumerate(extents))


@dataclass(frozen=True)
class Write:
    """Store `expr` into buffer `target` at `offset` (elements)."""

    target: str
    storage: str
    offset: IntLike
    expr: Expr


@dataclass(frozen=True)
class LoadAccessor:
    """Port that computes `expr` from reads; `side` are writes of values computed on the way."""

    name: str
    coords: tuple[Symbol, ...]
    expr: Expr
    side: tuple[Write, ...] = ()

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return (self.expr, *(w.expr for w in self.side))


@dataclass(frozen=True)
class StoreAccessor:
    """Port that receives Input("value") and writes; without an input port it is the body of a pointwise kernel."""

    name: str
    coords: tuple[Symbol, ...]
    dtype: str
    writes: tuple[Write, ...]

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return tuple(w.expr for w in self.writes)


@dataclass(frozen=True)
class MapAccessor:
    """Port that maps Input("value"); expr None is the identity."""

    name: str
    coords: tuple[Symbol, ...]
    expr: Expr | None

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return () if self.expr is None else (self.expr,)


@dataclass(frozen=True)
class StridedOperand:
    """Port that reads `source` raw: base offset and one stride per coordinate, in elements."""

    name: str
    coords: tuple[Symbol, ...]
    source: str
    storage: str
    base: IntLike
    strides: tuple[IntLike, IntLike, IntLike, IntLike]

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return ()


@dataclass(frozen=True)
class PackedOperand:
    """Port that reads a stored form of a constant; the strides are those of the outer coordinates, in elements."""

    name: str
    source: str
    storage: str
    strides: tuple[IntLike, ...]

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return ()


Port = LoadAccessor | StoreAccessor | MapAccessor | StridedOperand | PackedOperand


@dataclass(frozen=True)
class Kernel:
    """One kernel of the plan. `dims` are the integers of the template's dims struct; `nodes` the graph nodes it covers."""

    template: str
    ports: tuple[Port, ...]
    dims: tuple[IntLike, ...]
    params: tuple[tuple[str, Any], ...] = ()
    scalars: tuple[tuple[str, float | IntLike], ...] = ()
    nodes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    source: str = ""
    reasons: tuple[tuple[str, str], ...] = ()  # (edge or value, why it was not fused)
    reduction: IntLike = 1
    flops: IntLike = 0
    extents: tuple[str, ...] = field(default=())

    @cached_property
    def operands(self) -> tuple[tuple[str, str, bool], ...]:
        """Buffers in order of first use: (value, storage dtype, written?)."""
        seen: dict[tuple[str, bool], tuple[str, str, bool]] = {}
        for port in self.ports:
            for item in _port_operands(port):
                seen.setdefault((item[0], item[2]), item)
        return tuple(seen.values())

    @property
    def inputs(self) -> tuple[str, ...]:
        """Values that the kernel reads."""
        return tuple(v for v, _, written in self.operands if not written)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Values that the kernel writes."""
        return tuple(v for v, _, written in self.operands if written)


def _port_operands(port: Port) -> Iterator[tuple[str, str, bool]]:
    if isinstance(port, (StridedOperand, PackedOperand)):
        yield port.source, port.storage, False
        return
    for e in port.exprs:
        for r in ex.reads(e):
            yield r.source, r.storage, False
    writes = port.side if isinstance(port, LoadAccessor) else port.writes if isinstance(port, StoreAccessor) else ()
    for w in writes:
        for r in ex.index_reads((w.offset,)):
            yield r.source, r.storage, False
        yield w.target, w.storage, True


def flat_read(source: str, storage: str, offset: IntLike, guard: Conditions = ()) -> Read:
    """Return a read of a contiguous buffer at an element offset."""
    return Read(source, storage, (offset,), guard)
