"""The form of a matrix product: batch axes outside, then rows m, columns n and the contracted axis k."""

from __future__ import annotations

from dataclasses import dataclass

from dinoml.ir import graph, intexpr
from dinoml.ir.intexpr import IntLike, Symbol
from dinoml.ir.shapes import Shape
from dinoml.lowering.forms import Form, Load, Store, coordinates, delinearise


@dataclass(frozen=True)
class Operand:
    """One factor: its value, batch axes, and layout "r" (row-major), "c" (column-major) or "packed" (stored panels)."""

    value: str
    batch: Shape
    layout: str
    accepts: str = "strided"

    def index(self, outer: tuple[IntLike, ...], row: IntLike, column: IntLike) -> tuple[IntLike, ...]:
        if self.layout == "packed":
            return (*outer, 0, 0, 0)
        return (*outer, row, column) if self.layout == "r" else (*outer, column, row)


def contraction_form(a: Operand, b: Operand, m: IntLike, n: IntLike, k: IntLike) -> Form:
    """Return the form of a[..., m, k] times b[..., k, n] with broadcast batch axes.

    Where b has no batch of its own, the batch axes of a row-major a are more rows of one product.
    """
    batch = graph.broadcast(a.batch, b.batch, "matrix product")
    fold = bool(batch) and all(e == 1 for e in b.batch) and a.layout == "r" and a.batch == batch
    ni, ki = Symbol("n", extent=n), Symbol("k", extent=k)
    if fold:
        outer: tuple[Symbol, ...] = ()
        m = intexpr.mul(intexpr.product(batch), m)
        mi = Symbol("m", extent=m)
        *lead, row = delinearise(mi, (*batch, intexpr.floordiv(m, intexpr.product(batch))))
        y_index: tuple[IntLike, ...] = (*lead, row)
        a_index = a.index(tuple(lead), row, ki)
        b_outer: tuple[IntLike, ...] = (0,) * len(b.batch)
    else:
        outer = coordinates("o", batch)
        mi = Symbol("m", extent=m)
        y_index = (*outer, mi)
        a_index = a.index(_aligned(outer, a.batch, batch), mi, ki)
        b_outer = _aligned(outer, b.batch, batch)
    return Form(
        template="gemm",
        outer=outer,
        ports=(
            Load("a", a.value, a_index, (mi, ki), accepts=a.accepts),
            Load("b", b.value, b.index(b_outer, ki, ni), (ki, ni), accepts=b.accepts),
            Store("y", 0, (*y_index, ni), (mi, ni)),
        ),
        tail=(m, n, k),
        outer_slots=2,
        reduction=k,
        flops=intexpr.mul(2, intexpr.product((*(e for e in (batch if not fold else ())), m, n, k))),
    )


def _aligned(outer: tuple[Symbol, ...], own: Shape, full: Shape) -> tuple[IntLike, ...]:
    """Return the batch index of an operand whose batch axes broadcast to `full`."""
    tail = outer[len(outer) - len(own) :] if own else ()
    return tuple(0 if e == 1 and f != 1 else s for s, e, f in zip(tail, own, full[len(full) - len(own) :]))
