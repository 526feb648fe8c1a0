"""Typed scalar expressions: what an accessor computes for one element.

A tree over reads of tensors at symbolic indices. Fusion substitutes one expression for the reads of another; code
generation renders the result for a target and NumPy executes it, so both run the same description.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from dinoml.ir import dtypes, intexpr
from dinoml.ir.intexpr import IntLike, Opaque, Symbol
from dinoml.ir.primitives import PRIMITIVES

Conditions = tuple[IntLike, ...]  # all must be >= 0
C = TypeVar("C")


def hashed_once(cls: type[C]) -> type[C]:
    """Let instances of a frozen dataclass remember their hash: trees are hashed at every level of every rewrite."""
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type]

    def __hash__(self: Any) -> int:
        known = self.__dict__.get("_hash")
        if known is None:
            known = self.__dict__["_hash"] = hash(tuple(getattr(self, n) for n in names))
        return int(known)

    cls.__hash__ = __hash__  # type: ignore[method-assign]
    return cls


@dataclass(frozen=True)
class Const:
    """A literal; dtype is a compute dtype."""

    value: float | int | bool
    dtype: str

    def __hash__(self) -> int:
        return hash((repr(self.value), self.dtype))

    def __eq__(self, other: object) -> bool:  # -0.0, NaN and True stay apart from 0.0, NaN and 1
        return isinstance(other, Const) and self.dtype == other.dtype and repr(self.value) == repr(other.value)

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()


@dataclass(frozen=True)
class Index:
    """An integer expression over coordinates and dims used as a value."""

    value: IntLike
    dtype: str  # int32, int64 or float32

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()


@hashed_once
@dataclass(frozen=True)
class Read:
    """One element of tensor `source` (a value name) at `index`; outside `guard` nothing is read and the value is 0."""

    source: str
    storage: str
    index: tuple[IntLike, ...]
    guard: Conditions = ()

    @property
    def dtype(self) -> str:
        return dtypes.compute_dtype(self.storage)

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()


@hashed_once
@dataclass(frozen=True)
class Call:
    """A primitive applied to values."""

    fn: str
    args: tuple[Expr, ...]
    dtype: str

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args


@dataclass(frozen=True)
class Cast:
    """Conversion between compute dtypes."""

    arg: Expr
    dtype: str

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.arg,)


@dataclass(frozen=True)
class Round:
    """A float32 value rounded to the precision of a narrower storage dtype (an explicit cast inside a fused chain)."""

    arg: Expr
    storage: str

    @property
    def dtype(self) -> str:
        return self.arg.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.arg,)


@hashed_once
@dataclass(frozen=True)
class Where:
    """`a` where the value `mask` holds, else `b`; both are evaluated."""

    mask: Expr
    a: Expr
    b: Expr

    @property
    def dtype(self) -> str:
        return self.a.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.mask, self.a, self.b)


@hashed_once
@dataclass(frozen=True)
class Select:
    """`a` where all index conditions are >= 0, else `b`. Reads inside `a` are guarded, so nothing outside is touched."""

    conditions: Conditions
    a: Expr
    b: Expr

    @property
    def dtype(self) -> str:
        return self.a.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.a, self.b)


@dataclass(frozen=True)
class Input:
    """The value that a kernel hands to a store or map accessor (port `name`)."""

    name: str
    dtype: str

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()


Expr = Const | Index | Read | Call | Cast | Round | Where | Select | Input


def call(fn: str, *args: Expr) -> Expr:
    """Return a primitive applied to equally typed values; raise TypeError when the table does not admit them."""
    p = PRIMITIVES.get(fn)
    if p is None:
        raise TypeError(f"unknown function {fn!r}; the expression language has {', '.join(sorted(PRIMITIVES))}")
    if len(args) != p.arity:
        raise TypeError(f"{fn} takes {p.arity} values, got {len(args)}")
    kinds = {a.dtype for a in args}
    if len(kinds) != 1:
        raise TypeError(f"{fn}: operands differ in dtype ({', '.join(sorted(kinds))})")
    (dt,) = kinds
    if dtypes.DTYPES[dt].kind not in p.types:
        raise TypeError(f"{fn} does not take {dt}; it takes {', '.join(p.types)}")
    return Call(fn, args, dt if p.result == "same" else p.result)


def cast(x: Expr, dtype: str) -> Expr:
    """Return x converted to a compute dtype, unchanged if it has it."""
    return x if x.dtype == dtype else Cast(x, dtype)


def rebuild(x: Expr, children: tuple[Expr, ...]) -> Expr:
    """Return the same node over other children."""
    match x:
        case Call():
            return Call(x.fn, children, x.dtype)
        case Cast():
            return Cast(children[0], x.dtype)
        case Round():
            return Round(children[0], x.storage)
        case Where():
            return Where(*children)
        case Select():
            return Select(x.conditions, *children)
    return x


def transform(x: Expr, fn: Callable[[Expr], Expr | None], memo: dict[Expr, Expr] | None = None) -> Expr:
    """Rewrite bottom-up: children first, then fn(node) (None keeps it). Shared sub-expressions are visited once."""
    memo = {} if memo is None else memo
    if x in memo:
        return memo[x]
    kids = tuple(transform(c, fn, memo) for c in x.children)
    y = rebuild(x, kids) if kids != x.children else x
    z = fn(y)
    memo[x] = y if z is None else z
    return memo[x]


def walk(x: Expr) -> Iterator[Expr]:
    """Yield every distinct node, children before parents."""
    seen: set[Expr] = set()

    def visit(e: Expr) -> Iterator[Expr]:
        if e in seen:
            return
        seen.add(e)
        for c in e.children:
            yield from visit(c)
        yield e

    yield from visit(x)


def reads(x: Expr) -> list[Read]:
    """Return the distinct reads in order of first use, those inside run-time indices first."""
    out: dict[Read, None] = {}
    for e in walk(x):
        if isinstance(e, Read):
            for inner in index_reads(e.index + e.guard):
                out.setdefault(inner)
            out.setdefault(e)
        elif isinstance(e, (Index, Select)):
            for inner in index_reads((e.value,) if isinstance(e, Index) else e.conditions):
                out.setdefault(inner)
    return list(out)


def index_reads(index: tuple[IntLike, ...]) -> list[Read]:
    """Return the reads that run-time values inside integer expressions depend on."""
    out: list[Read] = []

    def visit(i: IntLike) -> None:
        if isinstance(i, Opaque):
            out.extend(reads(i.payload.expr))
        elif isinstance(i, intexpr.Binary):
            visit(i.a)
            visit(i.b)
        elif isinstance(i, intexpr.Poly):
            for a in intexpr.atoms(i):
                visit(a)

    for i in index:
        visit(i)
    return out


@dataclass(frozen=True)
class RuntimeIndex:
    """Payload of an opaque integer: the value of an integer expression, clamped into its extent when used as an index."""

    expr: Expr
    operand: str

    def substitute(self, fn: Callable[[Symbol], IntLike | None]) -> RuntimeIndex:
        return RuntimeIndex(substitute_index(self.expr, fn), self.operand)

    def symbols(self) -> set[Symbol]:
        return {s for e in walk(self.expr) for i in _indices(e) for s in intexpr.symbols(i)}

    def __str__(self) -> str:
        return show(self.expr)


def runtime_index(expr: Expr, extent: IntLike, operand: str) -> IntLike:
    """Return an integer whose value is read at run time and clamped to 0 <= value < extent; misses are reported for `operand`."""
    while isinstance(expr, Cast) and dtypes.DTYPES[expr.arg.dtype].kind == "int":
        expr = expr.arg
    known = int(expr.value) if isinstance(expr, Const) else expr.value if isinstance(expr, Index) else None
    if known is not None and intexpr.nonnegative(known) and intexpr.less(known, extent):
        return known
    return Opaque(RuntimeIndex(expr, operand), extent)


def _indices(e: Expr) -> tuple[IntLike, ...]:
    if isinstance(e, Read):
        return e.index + e.guard
    if isinstance(e, Index):
        return (e.value,)
    return e.conditions if isinstance(e, Select) else ()


def substitute_index(x: Expr, fn: Callable[[Symbol], IntLike | None]) -> Expr:
    """Replace symbols in every index of the tree (fn(symbol) -> new value, None keeps)."""

    def sub(i: IntLike) -> IntLike:
        return intexpr.substitute(i, fn)

    def visit(e: Expr) -> Expr | None:
        match e:
            case Read():
                return Read(e.source, e.storage, tuple(map(sub, e.index)), simplify_guard(tuple(map(sub, e.guard))))
            case Index():
                return Index(sub(e.value), e.dtype)
            case Select():
                return select(tuple(map(sub, e.conditions)), e.a, e.b)
        return None

    return transform(x, visit)


def simplify_guard(conditions: Conditions) -> Conditions:
    """Drop conditions that always hold; keep order."""
    return tuple(dict.fromkeys(c for c in conditions if not intexpr.nonnegative(c)))


def select(conditions: Conditions, a: Expr, b: Expr) -> Expr:
    """Return Select with what is always true removed and what is never true resolved."""
    rest = simplify_guard(conditions)
    if not rest:
        return a
    if any(intexpr.bounds(c)[1] < 0 for c in rest):
        return b
    if len(rest) == 1:  # the negation of one condition is a condition; with several, `b` must guard its own reads
        b = guarded(b, (intexpr.add(intexpr.mul(-1, rest[0]), -1),))
    return Select(rest, guarded(a, rest), b)


def guarded(x: Expr, conditions: Conditions) -> Expr:
    """Add conditions to every read of the tree, those inside run-time indices too, and leave out what always holds."""

    def runtime(o: Opaque) -> IntLike:
        return runtime_index(guarded(o.payload.expr, conditions), o.extent, o.payload.operand)

    def ints(items: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
        return tuple(map_runtime(i, runtime) for i in items)

    def visit(e: Expr) -> Expr | None:
        match e:
            case Read():
                return Read(e.source, e.storage, ints(e.index), simplify_guard(ints(e.guard) + conditions))
            case Index():
                return Index(map_runtime(e.value, runtime), e.dtype)
            case Select():
                return Select(ints(e.conditions), e.a, e.b)
        return None

    return transform(x, visit)


def map_runtime(i: IntLike, fn: Callable[[Opaque], IntLike]) -> IntLike:
    """Return i with every run-time value replaced by fn(value)."""
    if isinstance(i, Opaque):
        return fn(i)
    if isinstance(i, intexpr.Binary):
        return intexpr.apply(i.op, map_runtime(i.a, fn), map_runtime(i.b, fn))
    if isinstance(i, intexpr.Poly):
        out: IntLike = 0
        for mono, c in i.terms:
            out = intexpr.add(out, intexpr.mul(c, intexpr.product(map_runtime(a, fn) for a in mono)))
        return out
    return i


def cost(x: Expr) -> int:
    """Return a rough count of arithmetic operations for one element."""
    return sum(PRIMITIVES[e.fn].cost if isinstance(e, Call) else 1 for e in walk(x) if e.children)


def show(x: Expr) -> str:
    """Return a readable one-line form."""
    match x:
        case Const():
            return repr(x.value)
        case Index():
            return str(x.value)
        case Read():
            tail = f" if {' & '.join(f'{c} >= 0' for c in x.guard)}" if x.guard else ""
            return f"{x.source}[{', '.join(map(str, x.index))}{tail}]"
        case Input():
            return x.name
        case Select():
            return f"select({' & '.join(f'{c} >= 0' for c in x.conditions)}, {show(x.a)}, {show(x.b)})"
        case Cast():
            return f"{x.dtype}({show(x.arg)})"
        case Round():
            return f"round_{x.storage}({show(x.arg)})"
        case Where():
            return f"where({show(x.mask)}, {show(x.a)}, {show(x.b)})"
    return f"{x.fn}({', '.join(show(a) for a in x.args)})"


def typed_const(value: Any, dtype: str) -> Const:
    """Return a literal of a compute dtype; raise TypeError when the value does not fit it."""
    kind = dtypes.DTYPES[dtype].kind
    if kind == "bool":
        return Const(bool(value), dtype)
    if kind == "int":
        if isinstance(value, float) and not value.is_integer():
            raise TypeError(f"{value!r} is not an integer, but the expression has dtype {dtype}")
        return Const(int(value), dtype)
    return Const(float(value), dtype)
