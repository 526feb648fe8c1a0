"""Fitting coordinates: merge the outer coordinates of a kernel where all accesses allow it, split where they do not fit.

Adjacent coordinates a (slower) and b (faster) merge when every offset, guard and index value depends on them as
k*(extent(b)*a + b), or on neither. What exceeds the template's slots is joined by // and % instead, outermost first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dinoml.ir import expr as ex
from dinoml.ir import intexpr
from dinoml.ir.expr import Expr
from dinoml.ir.intexpr import Atom, IntLike, Monomial, Opaque, Symbol

Substitution = Callable[[Symbol], "IntLike | None"]


def integers(x: Expr) -> list[IntLike]:
    """Return every integer expression in x: offsets, guards, index values, those inside run-time indices too."""
    out: list[IntLike] = []
    for e in ex.walk(x):
        if isinstance(e, ex.Read):
            out += [*e.index, *e.guard]
        elif isinstance(e, ex.Index):
            out.append(e.value)
        elif isinstance(e, ex.Select):
            out += e.conditions
    for i in list(out):
        for a in _opaques(i):
            out += integers(a.payload.expr)
    return out


def _opaques(i: IntLike) -> list[Opaque]:
    if isinstance(i, Opaque):
        return [i]
    if isinstance(i, intexpr.Binary):
        return _opaques(i.a) + _opaques(i.b)
    return [o for a in intexpr.atoms(i) for o in _opaques(a)] if isinstance(i, intexpr.Poly) else []


def coefficient(x: IntLike, s: Symbol) -> IntLike | None:
    """Return k where x == k*s + rest and neither k nor rest depends on s; None when x is not affine in s.

    Run-time values count as constants here: the integers inside them are checked on their own.
    """
    k: dict[Monomial, int] = {}
    for mono, c in intexpr.terms_of(x).items():
        hits = [a for a in mono if _mentions(a, s)]
        if not hits:
            continue
        if len(hits) > 1 or hits[0] != s:
            return None
        rest = list(mono)
        rest.remove(s)
        k[tuple(rest)] = k.get(tuple(rest), 0) + c
    return intexpr.from_terms(k)


def _mentions(a: Atom, s: Symbol) -> bool:
    if isinstance(a, Symbol):
        return a == s
    if isinstance(a, intexpr.Binary):
        return any(_mentions(t, s) for part in (a.a, a.b) for t in intexpr.atoms(part))
    return False


@dataclass(frozen=True)
class Fitted:
    """Outer extents after fitting, padded with ones in front to the number of slots, and the substitution to apply."""

    extents: tuple[IntLike, ...]
    substitute: dict[Symbol, IntLike]

    def __call__(self, s: Symbol) -> IntLike | None:
        return self.substitute.get(s)


def fit(outer: tuple[Symbol, ...], slots: int, items: Iterable[IntLike]) -> Fitted:
    """Return how `outer` coordinates become the kernel coordinates c0..c(slots-1); the last one is the vector dimension of pointwise kernels."""
    checks: list[IntLike] = list(dict.fromkeys(i for i in items if not isinstance(i, int)))
    groups: list[list[Symbol]] = [[s] for s in outer if s.extent != 1]
    n = len(groups) - 1
    while n > 0:
        if _mergeable(groups[n - 1], groups[n], checks):
            groups[n - 1 : n + 1] = [groups[n - 1] + groups[n]]
        n -= 1
    joined: list[list[list[Symbol]]] = [[g] for g in groups]
    while len(joined) > slots:
        joined[0:2] = [joined[0] + joined[1]]
    extents = [intexpr.product(s.extent for g in unit for s in g) for unit in joined]  # type: ignore[misc]
    pad = slots - len(joined)
    full = (1,) * pad + tuple(extents)
    sub: dict[Symbol, IntLike] = {s: 0 for s in outer if s.extent == 1}
    for position, unit in enumerate(joined):
        c = Symbol(f"c{pad + position}", extent=full[pad + position])
        inner = intexpr.product(s.extent for g in unit for s in g)  # type: ignore[misc]
        if inner == 0:  # nothing is ever visited
            sub.update({s: 0 for g in unit for s in g})
            continue
        rest: IntLike = c
        for where, group in enumerate(unit):
            extent = intexpr.product(s.extent for s in group)  # type: ignore[misc]
            inner = intexpr.floordiv(inner, extent)
            value = rest if where == len(unit) - 1 else intexpr.floordiv(c, inner)
            if 0 < where < len(unit) - 1:
                value = intexpr.mod(value, extent)
            if where == len(unit) - 1 and len(unit) > 1:
                value = intexpr.mod(c, extent)
            for s in group[:-1]:
                sub[s] = 0
            sub[group[-1]] = value  # a merged group moves with its fastest member
    return Fitted(full, sub)


def _mergeable(slow: list[Symbol], fast: list[Symbol], checks: list[IntLike]) -> bool:
    """Groups were merged before: their fastest member carries the stride, the extent is the product of all."""
    a, b = slow[-1], fast[-1]
    extent = intexpr.product(s.extent for s in fast)  # type: ignore[misc]
    for i in checks:
        ka, kb = coefficient(i, a), coefficient(i, b)
        if ka is None or kb is None or ka != intexpr.mul(kb, extent):
            return False
    return True


def rename(x: Expr, sub: Substitution) -> Expr:
    """Return x over the new coordinates, inner run-time indices included."""
    return ex.substitute_index(x, sub)
