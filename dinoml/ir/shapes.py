"""Dims and symbolic shapes: the user's `Dim`, JSON forms, and the checks that shapes must pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dinoml.ir import intexpr
from dinoml.ir.intexpr import Binary, IntExpr, IntLike, Opaque, Poly, Symbol

Shape = tuple[IntLike, ...]


class Dim(Symbol):
    """A dimension whose extent is chosen at run time, `min <= extent <= max` and a multiple of `divisible_by`.

    `typical` is the extent to optimise for and `buckets` the extents that are planned and profiled. Dims are identified by
    name: the same name has the same run-time value everywhere. Raises ValueError when the numbers contradict each other.
    """

    typical: int
    buckets: tuple[int, ...]

    def __init__(
        self,
        name: str,
        min: int = 1,
        max: int = 1 << 31,
        typical: int | None = None,
        buckets: Iterable[int] = (),
        divisible_by: int = 1,
    ) -> None:
        if not name.isidentifier():
            raise ValueError(f"Dim name {name!r} must be an identifier such as 'batch'")
        if divisible_by < 1:
            raise ValueError(f"Dim {name}: divisible_by={divisible_by} must be at least 1")
        if not 0 <= min <= max:
            raise ValueError(f"Dim {name}: needs 0 <= min <= max, got min={min}, max={max}")
        chosen = tuple(sorted({int(b) for b in buckets}))
        for label, value in (("min", min), ("max", max), ("typical", typical), *(("bucket", b) for b in chosen)):
            if value is None:
                continue
            if value % divisible_by:
                raise ValueError(f"Dim {name}: {label}={value} is not a multiple of divisible_by={divisible_by}")
            if not min <= value <= max:
                raise ValueError(f"Dim {name}: {label}={value} is outside {min}..{max}")
        for key, item in (("name", name), ("lo", min), ("hi", max), ("divisible_by", divisible_by), ("extent", None),
                          ("typical", max if typical is None else typical), ("buckets", chosen)):  # fmt: skip
            object.__setattr__(self, key, item)

    @property
    def min(self) -> int:
        """The smallest extent."""
        return self.lo

    @property
    def max(self) -> int:
        """The largest extent."""
        return self.hi

    def __repr__(self) -> str:
        return f"Dim({self.name!r}, min={self.lo}, max={self.hi}, typical={self.typical}, buckets={self.buckets}, divisible_by={self.divisible_by})"

    def same(self, other: Dim) -> bool:
        """Return whether both describe the same dim, all numbers included."""
        return repr(self) == repr(other)


def to_json(x: IntLike) -> Any:
    """Return the JSON form of a symbolic integer; dims are referred to by name."""
    match x:
        case int():
            return x
        case Symbol():
            return {"dim": x.name}
        case Binary():
            return {"op": x.op, "args": [to_json(x.a), to_json(x.b)]}
        case Poly():
            return {"op": "+", "args": [_monomial_json(m, c) for m, c in x.terms]}
    raise TypeError(f"{x} has no JSON form: run-time values cannot be part of a shape")


def _monomial_json(mono: tuple[Any, ...], c: int) -> Any:
    if not mono:
        return c
    parts = ([c] if c != 1 else []) + [to_json(a) for a in mono]
    return parts[0] if len(parts) == 1 else {"op": "*", "args": parts}


def from_json(data: Any, dims: Mapping[str, Dim]) -> IntLike:
    """Return the symbolic integer of a JSON form; raise ValueError naming what is not understood."""
    if isinstance(data, int):
        return data
    if isinstance(data, Mapping) and "dim" in data:
        if data["dim"] not in dims:
            raise ValueError(f"unknown dim {data['dim']!r}; known: {', '.join(dims) or 'none'}")
        return dims[data["dim"]]
    if isinstance(data, Mapping) and "op" in data:
        args = [from_json(a, dims) for a in data["args"]]
        out = args[0]
        for a in args[1:]:
            out = intexpr.apply(data["op"], out, a)
        return out
    raise ValueError(f"not a symbolic integer: {data!r}")


def dim_to_json(d: Dim) -> dict[str, Any]:
    """Return the full description of a dim."""
    return {"name": d.name, "min": d.lo, "max": d.hi, "typical": d.typical, "buckets": list(d.buckets), "divisible_by": d.divisible_by}


def dim_from_json(data: Mapping[str, Any]) -> Dim:
    """Return the dim of `dim_to_json`."""
    return Dim(data["name"], data["min"], data["max"], data["typical"], data["buckets"], data["divisible_by"])


def shape(items: Iterable[object], what: str = "shape") -> Shape:
    """Return a checked shape of non-negative ints, dims and integer expressions; raise TypeError or ValueError naming the axis."""
    out: list[IntLike] = []
    for axis, item in enumerate(items):
        if isinstance(item, IntExpr):
            if intexpr.bounds(item)[0] < 0:
                raise ValueError(f"{what}: axis {axis} ({item}) can become negative; bound its dims or use max(0, …)")
            out.append(item)
        elif isinstance(item, bool) or not hasattr(item, "__index__"):
            raise TypeError(f"{what}: axis {axis} is {item!r}; use an int, a Dim or an integer expression of Dims")
        else:
            value = item.__index__()
            if value < 0:
                raise ValueError(f"{what}: axis {axis} is {value}; extents are not negative")
            out.append(value)
    return tuple(out)


def dims_of(*items: IntLike) -> dict[str, Dim]:
    """Return all dims that occur, by name; raise ValueError when one name means two different dims."""
    found: dict[str, Dim] = {}
    for item in items:
        for s in intexpr.symbols(item):
            if isinstance(s, Dim):
                if s.name in found and not found[s.name].same(s):
                    raise ValueError(f"two different dims are named {s.name!r}: {found[s.name]!r} and {s!r}")
                found[s.name] = s
    return found


def max_extent(x: IntLike) -> int:
    """Return the largest value of an extent."""
    return intexpr.bounds(x)[1]


def row_major(shape: Shape) -> tuple[IntLike, ...]:
    """Return the element strides of a contiguous tensor."""
    strides: list[IntLike] = []
    step: IntLike = 1
    for extent in reversed(shape):
        strides.append(step)
        step = intexpr.mul(step, extent)
    return tuple(reversed(strides))


def show(shape: Iterable[IntLike]) -> str:
    """Return a readable shape such as [batch, 8]."""
    return "[" + ", ".join(str(s) for s in shape) + "]"


def opaque_free(x: IntLike) -> bool:
    """Return whether x has no run-time value inside (so that it can be a shape)."""
    return not any(isinstance(a, Opaque) for a in intexpr.atoms(x))
