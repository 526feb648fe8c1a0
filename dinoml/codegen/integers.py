"""Rendering symbolic integers: constants inline, dims-only parts as run-time integers, coordinates as variables."""

from __future__ import annotations

from collections.abc import Callable

from dinoml.ir import intexpr
from dinoml.ir.intexpr import Binary, IntLike, Monomial, Opaque, Symbol

LANES = 16  # the widest vector of any template; div and mod steps aligned to it stay uniform across lanes


def has_coordinate(x: IntLike) -> bool:
    """Return whether x depends on a kernel coordinate or a run-time value."""
    if isinstance(x, int):
        return False
    if isinstance(x, Symbol):
        return x.extent is not None
    if isinstance(x, Opaque):
        return True
    if isinstance(x, Binary):
        return has_coordinate(x.a) or has_coordinate(x.b)
    return any(has_coordinate(a) for a in intexpr.atoms(x))


def depends(x: IntLike, name: str) -> bool:
    """Return whether x depends on the coordinate `name`, through run-time values too."""
    return any(s.name == name and s.extent is not None for s in intexpr.symbols(x))


class IntTable:
    """The run-time integers of one kernel, in order of first use: dims-only expressions that generated code gets as n[i]."""

    def __init__(self) -> None:
        self.items: dict[IntLike, int] = {}

    def slot(self, x: IntLike) -> int:
        """Return the position of x in n[]."""
        return self.items.setdefault(x, len(self.items))


class IntRenderer:
    """Renders integers inside one accessor. `field(x)` names the member that holds a dims-only expression."""

    def __init__(self, field: Callable[[IntLike], str], opaque: Callable[[Opaque, str], str]) -> None:
        self._field = field
        self._opaque = opaque

    def __call__(self, x: IntLike, last: str = "i3") -> str:
        """Return C++ for x; `last` is the text that stands for the vector coordinate."""
        if isinstance(x, int):
            return f"i64({x})" if abs(x) > 0x7FFFFFFF else str(x)
        if not has_coordinate(x):
            return self._field(x)
        if isinstance(x, Symbol):
            return last if x.name == "c3" else "i" + x.name[1:]
        if isinstance(x, Opaque):
            return self._opaque(x, last)
        if isinstance(x, Binary):
            return self._binary(x, last)
        return self._poly(x, last)

    def _binary(self, x: Binary, last: str) -> str:
        a, b = self(x.a, last), self(x.b, last)
        if x.op in ("min", "max"):
            return f"({a} {'<' if x.op == 'min' else '>'} {b} ? {a} : {b})"
        if intexpr.nonnegative(x.a):
            return f"(({a}) {x.op[0]} {b})"
        return f"{'floor_div' if x.op == '//' else 'floor_mod'}_i64({a}, {b})"

    def _poly(self, x: IntLike, last: str) -> str:
        groups: dict[Monomial, dict[Monomial, int]] = {}
        for mono, c in intexpr.terms_of(x).items():
            moving = tuple(a for a in mono if has_coordinate(a))
            fixed = tuple(a for a in mono if not has_coordinate(a))
            groups.setdefault(moving, {})[fixed] = c
        parts = []
        for moving, terms in groups.items():
            k = intexpr.from_terms(terms)
            names = [self(a, last) for a in moving]
            if k != 1 or not names:
                names.append(self(k))
            parts.append(" * ".join(names))
        return "(" + " + ".join(parts) + ")" if len(parts) > 1 else parts[0]


def lane_slope(x: IntLike, aligned: bool = True) -> IntLike | None:
    """Return the change of x per lane of the vector coordinate c3, None when it is not constant within a vector.

    Vectors start at multiples of their width, so (c3 + r) // d and (c3 + r) % d with d and r divisible by the width neither
    step nor wrap inside one (`aligned`; ports whose vectors may start anywhere pass False).
    """
    slope: dict[Monomial, int] = {}
    for mono, c in intexpr.terms_of(x).items():
        moving = [a for a in mono if depends(a, "c3")]
        if not moving:
            continue
        if len(moving) > 1:
            return None
        step = _atom_slope(moving[0], aligned)
        if step is None:
            return None
        rest = list(mono)
        rest.remove(moving[0])
        for m, v in intexpr.terms_of(intexpr.mul(from_one(tuple(rest), c), step)).items():
            slope[m] = slope.get(m, 0) + v
    out = intexpr.from_terms(slope)
    return None if has_coordinate(out) else out


def from_one(mono: Monomial, c: int) -> IntLike:
    """Return c times the product of a monomial."""
    return intexpr.from_terms({mono: c})


def _atom_slope(a: object, aligned: bool) -> int | None:
    if isinstance(a, Symbol):
        return 1
    if not (aligned and isinstance(a, Binary) and a.op in ("//", "%") and not depends(a.b, "c3")):
        return None
    own = lane_slope(a.a)
    if own != 1 or intexpr.divisor(a.b) % LANES:
        return None
    rest = intexpr.add(a.a, intexpr.mul(-1, next(s for s in intexpr.symbols(a.a) if s.name == "c3")))
    if depends(rest, "c3") or intexpr.divisor(rest) % LANES:
        return None
    return 1 if a.op == "%" else 0
