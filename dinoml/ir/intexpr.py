"""Symbolic integers for shapes and index maps.

Every expression is kept in one canonical form: a polynomial over atoms with integer coefficients. Atoms are symbols
(dims, coordinates), floor divisions, remainders, minima, maxima and opaque run-time values. Equal canonical forms are
equal expressions, so `==` decides most questions that shape inference and fusion ask. Semantics of // and % are Python's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Union

IntLike = Union[int, "IntExpr"]
INF = 1 << 62


class IntExpr:
    """Base of all symbolic integers; supports + - * // % with ints and other expressions."""

    __slots__ = ()

    def __add__(self, other: IntLike) -> IntLike:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: IntLike) -> IntLike:
        return add(self, mul(-1, other))

    def __rsub__(self, other: IntLike) -> IntLike:
        return add(other, mul(-1, self))

    def __mul__(self, other: IntLike) -> IntLike:
        return mul(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> IntLike:
        return mul(-1, self)

    def __floordiv__(self, other: IntLike) -> IntLike:
        return floordiv(self, other)

    def __rfloordiv__(self, other: IntLike) -> IntLike:
        return floordiv(other, self)

    def __mod__(self, other: IntLike) -> IntLike:
        return mod(self, other)

    def __rmod__(self, other: IntLike) -> IntLike:
        return mod(other, self)

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of {self} is known only at run time; compare shapes with == or use Dim bounds")


@dataclass(frozen=True)
class Symbol(IntExpr):
    """A named integer with a range; `extent`, where given, bounds it symbolically: 0 <= symbol < extent (a coordinate)."""

    name: str
    lo: int = 0
    hi: int = INF
    divisible_by: int = 1
    extent: IntLike | None = None

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and self.name == other.name and self.extent == other.extent

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Binary(IntExpr):
    """An atom that polynomials cannot express: op is one of "//", "%", "min", "max"."""

    op: str
    a: IntLike
    b: IntLike

    @cached_property
    def _hash(self) -> int:
        return hash((self.op, self.a, self.b))

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return f"{self.op}({self.a}, {self.b})" if self.op in ("min", "max") else f"({self.a} {self.op} {self.b})"


@dataclass(frozen=True)
class Opaque(IntExpr):
    """A run-time value known only by its range, 0 <= value < extent; `payload` must be hashable and have substitute(fn)."""

    payload: Any
    extent: IntLike

    def __str__(self) -> str:
        return f"[{self.payload}]"


Atom = Symbol | Binary | Opaque
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class Poly(IntExpr):
    """Sum of integer coefficients times products of atoms, sorted; never a constant and never one bare atom."""

    terms: tuple[tuple[Monomial, int], ...]

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        parts = []
        for mono, c in self.terms:
            names = "*".join(str(a) for a in mono)
            parts.append(str(c) if not mono else names if c == 1 else f"{c}*{names}")
        return "(" + " + ".join(parts) + ")" if len(parts) > 1 else parts[0]


def _key(mono: Monomial) -> tuple[int, str]:
    return (len(mono), "*".join(str(a) for a in mono))


def terms_of(x: IntLike) -> dict[Monomial, int]:
    """Return the polynomial of `x` as {monomial: coefficient}; the empty monomial holds the constant."""
    if isinstance(x, Poly):
        return dict(x.terms)
    if isinstance(x, IntExpr):
        return {(x,): 1}  # type: ignore[dict-item]
    return {(): int(x)} if x else {}


def from_terms(terms: Mapping[Monomial, int]) -> IntLike:
    """Return the canonical expression of a polynomial."""
    items = sorted(((m, c) for m, c in terms.items() if c), key=lambda t: _key(t[0]))
    if not items:
        return 0
    if len(items) == 1:
        mono, c = items[0]
        if not mono:
            return c
        if c == 1 and len(mono) == 1:
            return mono[0]
    return Poly(tuple(items))


def add(a: IntLike, b: IntLike) -> IntLike:
    """Return a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    out = terms_of(a)
    for m, c in terms_of(b).items():
        out[m] = out.get(m, 0) + c
    return from_terms(out)


def mul(a: IntLike, b: IntLike) -> IntLike:
    """Return a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    out: dict[Monomial, int] = {}
    for m1, c1 in terms_of(a).items():
        for m2, c2 in terms_of(b).items():
            m = tuple(sorted(m1 + m2, key=str))
            out[m] = out.get(m, 0) + c1 * c2
    return from_terms(out)


def _divide_monomial(mono: Monomial, by: Monomial) -> Monomial | None:
    rest = list(mono)
    for a in by:
        if a not in rest:
            return None
        rest.remove(a)
    return tuple(rest)


def _split(a: IntLike, b: IntLike) -> tuple[IntLike, IntLike]:
    """Return (q, r) with a == q * b + r where q collects the terms that b divides exactly."""
    divisor = terms_of(b)
    if len(divisor) != 1:
        return (1, 0) if a == b else _split_equal(a, b)
    (bm, bc), = divisor.items()
    q: dict[Monomial, int] = {}
    r: dict[Monomial, int] = {}
    for m, c in terms_of(a).items():
        d = _divide_monomial(m, bm)
        if d is not None and c % bc == 0:
            q[d] = q.get(d, 0) + c // bc
        elif d is not None and not bm and m:  # a constant divisor: keep the part of the coefficient below it
            whole, part = divmod(c, bc)
            if whole:
                q[m] = q.get(m, 0) + whole
            r[m] = part
        else:
            r[m] = c
    return from_terms(q), from_terms(r)


def _split_equal(a: IntLike, b: IntLike) -> tuple[IntLike, IntLike]:
    """Division by a sum: recognise a == k * b + r for the multiple k that cancels b's leading term."""
    bt = terms_of(b)
    lead = max(bt, key=_key)
    q: IntLike = 0
    r = a
    for _ in range(8):
        rt = terms_of(r)
        hit = next(((m, c) for m, c in rt.items() if c % bt[lead] == 0 and _divide_monomial(m, lead) is not None), None)
        if hit is None:
            break
        rest = _divide_monomial(hit[0], lead)
        assert rest is not None
        k = from_terms({rest: hit[1] // bt[lead]})
        q, r = add(q, k), add(r, mul(-1, mul(k, b)))
    return q, r


def nonnegative(x: IntLike) -> bool:
    """Return whether x >= 0 is provable from the ranges of its symbols."""
    if bounds(x)[0] >= 0:
        return True
    low = _extreme(x, upper=False)
    return low is not None and bounds(low)[0] >= 0


def less(a: IntLike, b: IntLike) -> bool:
    """Return whether a < b is provable."""
    gap = add(add(b, -1), mul(-1, a))
    return nonnegative(gap)


def floordiv(a: IntLike, b: IntLike) -> IntLike:
    """Return a // b (floor); b must be positive."""
    if isinstance(b, int):
        if b == 0:
            raise ZeroDivisionError(f"{a} // 0")
        if isinstance(a, int):
            return a // b
        if b == 1:
            return a
    q, r = _split(a, b)
    if r == 0 or (nonnegative(r) and less(r, b)):
        return q
    r, b = _reduce(r, b)
    if isinstance(r, Binary) and r.op == "//":
        return add(q, floordiv(r.a, mul(r.b, b)))
    return add(q, Binary("//", r, b))


def _reduce(r: IntLike, b: IntLike) -> tuple[IntLike, IntLike]:
    """Divide numerator and a constant denominator by their common factor."""
    if not isinstance(b, int):
        return r, b
    g = math.gcd(b, *terms_of(r).values())
    if g <= 1:
        return r, b
    return from_terms({m: c // g for m, c in terms_of(r).items()}), b // g


def mod(a: IntLike, b: IntLike) -> IntLike:
    """Return a % b (sign of b, as in Python); b must be positive."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if b == 1:
        return 0
    _, r = _split(a, b)
    if r == 0 or floordiv(r, b) == 0:
        return r
    if isinstance(b, int) and divisor(r) % b == 0:
        return 0
    return Binary("%", r, b)


def minimum(a: IntLike, b: IntLike) -> IntLike:
    """Return min(a, b)."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    if a == b or nonnegative(add(b, mul(-1, a))):
        return a
    if nonnegative(add(a, mul(-1, b))):
        return b
    return Binary("min", *sorted((a, b), key=str))


def maximum(a: IntLike, b: IntLike) -> IntLike:
    """Return max(a, b)."""
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    if a == b or nonnegative(add(a, mul(-1, b))):
        return a
    if nonnegative(add(b, mul(-1, a))):
        return b
    return Binary("max", *sorted((a, b), key=str))


def ceildiv(a: IntLike, b: IntLike) -> IntLike:
    """Return a / b rounded up."""
    return floordiv(add(a, add(b, -1)), b)


def product(items: Iterable[IntLike]) -> IntLike:
    """Return the product of all items, 1 for none."""
    out: IntLike = 1
    for x in items:
        out = mul(out, x)
    return out


def recombine(x: IntLike) -> IntLike:
    """Return x with every pair k*b*(r // b) + k*(r % b) replaced by k*r."""
    terms = terms_of(x)
    for mono, c in list(terms.items()):
        for a in mono:
            if not (isinstance(a, Binary) and a.op == "%") or mono not in terms:
                continue
            rest = list(mono)
            rest.remove(a)
            k = from_terms({tuple(rest): c})
            whole = mul(mul(k, a.b), floordiv(a.a, a.b))
            part = terms_of(whole)
            if part and all(terms.get(m, 0) == v for m, v in part.items()):
                for m in part:
                    terms.pop(m)
                terms.pop(mono)
                for m, v in terms_of(mul(k, a.a)).items():
                    terms[m] = terms.get(m, 0) + v
                return recombine(from_terms(terms))
    return from_terms(terms)


def bounds(x: IntLike) -> tuple[int, int]:
    """Return an interval that contains every value of x (±INF where unbounded)."""
    if isinstance(x, int):
        return x, x
    if isinstance(x, Symbol):
        return (0, max(bounds(x.extent)[1] - 1, 0)) if x.extent is not None else (x.lo, x.hi)
    if isinstance(x, Opaque):
        return 0, max(bounds(x.extent)[1] - 1, 0)
    if isinstance(x, Binary):
        return _binary_bounds(x)
    assert isinstance(x, Poly)
    lo = hi = 0
    for mono, c in x.terms:
        mlo, mhi = 1, 1
        for a in mono:
            alo, ahi = bounds(a)
            corners = [_clip(p * q) for p in (mlo, mhi) for q in (alo, ahi)]
            mlo, mhi = min(corners), max(corners)
        lo, hi = lo + min(c * mlo, c * mhi), hi + max(c * mlo, c * mhi)
    return _clip(lo), _clip(hi)


def _clip(v: int) -> int:
    return max(-INF, min(INF, v))


def _binary_bounds(x: Binary) -> tuple[int, int]:
    (alo, ahi), (blo, bhi) = bounds(x.a), bounds(x.b)
    if x.op == "min":
        return min(alo, blo), min(ahi, bhi)
    if x.op == "max":
        return max(alo, blo), max(ahi, bhi)
    if x.op == "%":
        top = max(bhi - 1, 0)
        return 0, min(top, ahi) if alo >= 0 else top
    blo = max(blo, 1)
    corners = [v // d for v in (alo, ahi) for d in (blo, max(bhi, 1))]
    return min(corners), max(corners)


def _extreme(x: IntLike, upper: bool) -> IntLike | None:
    """Replace coordinates by the end of their symbolic range that makes x largest (or smallest); None if signs are unclear."""
    out: IntLike = 0
    for mono, c in terms_of(x).items():
        part: IntLike = c
        want_high = (c > 0) == upper
        for a in mono:
            if bounds(a)[0] < 0:
                return None
            if isinstance(a, Symbol) and a.extent is None:
                part = mul(part, a)
            elif isinstance(a, (Symbol, Opaque)):
                part = mul(part, add(a.extent, -1) if want_high else 0)  # type: ignore[arg-type]
            elif a.op == "%":
                part = mul(part, add(a.b, -1)) if want_high else 0
            else:
                lo, hi = bounds(a)
                part = mul(part, hi if want_high else lo)
        out = add(out, part)
    return out


def upper_bound(x: IntLike) -> IntLike:
    """Return an upper bound of x without coordinates (dims may remain)."""
    e = _extreme(x, upper=True)
    return bounds(x)[1] if e is None else e


def divisor(x: IntLike) -> int:
    """Return the largest integer known to divide x (0 for x == 0)."""
    if isinstance(x, int):
        return abs(x)
    g = 0
    for mono, c in terms_of(x).items():
        d = abs(c)
        for a in mono:
            if isinstance(a, Symbol):
                d *= a.divisible_by
            elif isinstance(a, Binary) and a.op in ("min", "max"):
                d *= math.gcd(divisor(a.a), divisor(a.b))
        g = math.gcd(g, d)
    return g


def symbols(x: IntLike) -> set[Symbol]:
    """Return all symbols that x depends on, those inside opaque values excluded."""
    if isinstance(x, int):
        return set()
    if isinstance(x, Symbol):
        return {x}
    if isinstance(x, Binary):
        return symbols(x.a) | symbols(x.b)
    if isinstance(x, Opaque):
        return x.payload.symbols() if hasattr(x.payload, "symbols") else set()
    assert isinstance(x, Poly)
    return {s for mono, _ in x.terms for a in mono for s in symbols(a)}


def atoms(x: IntLike) -> set[Atom]:
    """Return the top-level atoms of x."""
    return {a for mono in terms_of(x) for a in mono}


def substitute(x: IntLike, fn: Callable[[Symbol], IntLike | None]) -> IntLike:
    """Replace symbols by fn(symbol) (None keeps the symbol) and simplify."""
    if isinstance(x, int):
        return x
    if isinstance(x, Symbol):
        new = fn(x)
        return x if new is None else new
    if isinstance(x, Opaque):
        return Opaque(x.payload.substitute(fn), substitute(x.extent, fn))
    if isinstance(x, Binary):
        return apply(x.op, substitute(x.a, fn), substitute(x.b, fn))
    assert isinstance(x, Poly)
    out: IntLike = 0
    for mono, c in x.terms:
        out = add(out, mul(c, product(substitute(a, fn) for a in mono)))
    return out


_APPLY: dict[str, Callable[[IntLike, IntLike], IntLike]] = {
    "+": add, "-": lambda a, b: add(a, mul(-1, b)), "*": mul, "//": floordiv, "%": mod, "min": minimum, "max": maximum,
}  # fmt: skip


def apply(op: str, a: IntLike, b: IntLike) -> IntLike:
    """Apply one of + - * // % min max."""
    return _APPLY[op](a, b)


def evaluate(x: IntLike, env: Mapping[str, Any], opaque: Callable[[Opaque], Any] | None = None) -> Any:
    """Evaluate with values (ints or NumPy integer arrays) for the symbols; raise KeyError for a missing one."""
    if isinstance(x, int):
        return x
    if isinstance(x, Symbol):
        return env[x.name]
    if isinstance(x, Opaque):
        if opaque is None:
            raise KeyError(str(x))
        return opaque(x)
    if isinstance(x, Binary):
        a, b = evaluate(x.a, env, opaque), evaluate(x.b, env, opaque)
        if x.op in ("min", "max"):
            import numpy as np

            if isinstance(a, int) and isinstance(b, int):
                return min(a, b) if x.op == "min" else max(a, b)
            return (np.minimum if x.op == "min" else np.maximum)(a, b)
        return a // b if x.op == "//" else a % b
    assert isinstance(x, Poly)
    total: Any = 0
    for mono, c in x.terms:
        part: Any = c
        for a in mono:
            part = part * evaluate(a, env, opaque)
        total = total + part
    return total
