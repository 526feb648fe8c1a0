"""Substituting producers into the reads of their consumers, the mechanism behind every fusion."""

from __future__ import annotations

from collections.abc import Callable

from dinoml.ir import expr as ex
from dinoml.ir import intexpr
from dinoml.ir.expr import Expr, Read, RuntimeIndex
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike, Opaque
from dinoml.lowering.forms import linear
from dinoml.lowering.kernels import flat_read

Define = Callable[[str, tuple[IntLike, ...]], Expr]


class Inliner:
    """Expands reads of virtual values by their definitions.

    `virtual(value)` says whether a value is computed in place; `define(value, index)` gives its expression. `given` maps
    values to expressions that stand for them as they are (a kernel's own result inside its epilogue).
    """

    def __init__(self, virtual: Callable[[str], bool], define: Define, given: dict[str, Expr] | None = None) -> None:
        self._virtual = virtual
        self._define = define
        self._given = given or {}
        self._memo: dict[Expr, Expr] = {}

    def __call__(self, x: Expr) -> Expr:
        """Return x with every virtual read expanded, down to buffers."""
        return ex.transform(x, self._visit, self._memo)

    def _visit(self, e: Expr) -> Expr | None:
        match e:
            case Read():
                if e.source in self._given:
                    return self._given[e.source]
                index, guard = self._ints(e.index), self._ints(e.guard)
                if self._virtual(e.source):
                    body = self(self._define(e.source, index))
                    return ex.select(guard, body, ex.typed_const(0, body.dtype)) if guard else body
                return Read(e.source, e.storage, index, guard) if (index, guard) != (e.index, e.guard) else None
            case ex.Index():
                (value,) = self._ints((e.value,))
                return ex.Index(value, e.dtype) if value != e.value else None
            case ex.Select():
                conditions = self._ints(e.conditions)
                return ex.Select(conditions, e.a, e.b) if conditions != e.conditions else None
        return None

    def _ints(self, items: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
        return tuple(self._int(i) for i in items)

    def _int(self, i: IntLike) -> IntLike:
        if isinstance(i, (int, intexpr.Symbol)):
            return i
        if isinstance(i, Opaque):
            return ex.runtime_index(self(i.payload.expr), i.extent, i.payload.operand)
        if isinstance(i, intexpr.Binary):
            return intexpr.apply(i.op, self._int(i.a), self._int(i.b))
        assert isinstance(i, intexpr.Poly)
        out: IntLike = 0
        for mono, c in i.terms:
            out = intexpr.add(out, intexpr.mul(c, intexpr.product(self._int(a) for a in mono)))
        return out


def flatten(x: Expr, type_of: Callable[[str], TensorType]) -> Expr:
    """Return x with every read turned into one offset of its contiguous buffer, inner run-time indices included."""
    memo: dict[Expr, Expr] = {}

    def flat_int(i: IntLike) -> IntLike:
        if isinstance(i, Opaque):
            p = i.payload
            return Opaque(RuntimeIndex(visit_all(p.expr), p.operand), i.extent)
        if isinstance(i, intexpr.Binary):
            return intexpr.apply(i.op, flat_int(i.a), flat_int(i.b))
        if isinstance(i, intexpr.Poly):
            out: IntLike = 0
            for mono, c in i.terms:
                out = intexpr.add(out, intexpr.mul(c, intexpr.product(flat_int(a) for a in mono)))
            return out
        return i

    def visit(e: Expr) -> Expr | None:
        match e:
            case Read():
                t = type_of(e.source)
                offset = intexpr.recombine(flat_int(linear(e.index, t.shape)))
                return flat_read(e.source, e.storage, offset, tuple(flat_int(g) for g in e.guard))
            case ex.Index():
                return ex.Index(intexpr.recombine(flat_int(e.value)), e.dtype)
            case ex.Select():
                return ex.Select(tuple(flat_int(c) for c in e.conditions), e.a, e.b)
        return None

    def visit_all(e: Expr) -> Expr:
        return ex.transform(e, visit, memo)

    return visit_all(x)
