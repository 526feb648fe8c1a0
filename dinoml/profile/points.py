"""The extents to profile at."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dinoml.ir import intexpr
from dinoml.ir.graph import Graph
from dinoml.ir.shapes import Dim

Point = dict[str, int]
Request = Mapping[str, tuple[int, ...]]  # values per dim
MOST_POINTS = 12
STEP = 8  # ratio of neighbouring extents where a dim has no buckets


def requests(graph: Graph, given: Any) -> list[Request]:
    """Return what `profile_input_shapes` asks for: a mapping, or several, of dims to extents or of inputs to shapes.

    Raises ValueError for a name that is neither, an extent outside its dim, or a shape that does not fit its input.
    """
    if given is None:
        return []
    cases = [given] if isinstance(given, Mapping) else list(given)
    return [_request(graph, case) for case in cases if case]


def _request(graph: Graph, case: Mapping[str, Sequence[int]]) -> Request:
    found: dict[str, list[int]] = {}
    for name, numbers in case.items():
        values = [int(v) for v in numbers]
        if name in graph.dims:
            found.setdefault(name, []).extend(values)
            continue
        for dim, value in _solve(graph, name, values).items():
            found.setdefault(dim, []).append(value)
    for name, extents in found.items():
        for v in extents:
            _check(graph.dims[name], v)
    return {n: tuple(dict.fromkeys(v)) for n, v in found.items()}


def _check(d: Dim, value: int) -> None:
    if not d.min <= value <= d.max or value % d.divisible_by:
        raise ValueError(f"profile shape {d.name}={value}: the dim takes {d.min}..{d.max} in multiples of {d.divisible_by}")


def _solve(graph: Graph, name: str, values: Sequence[int]) -> Point:
    """Return the dims that give an input this shape."""
    types = [f.types[name] for f in graph.functions if name in f.inputs]
    if not types:
        inputs = sorted({i for f in graph.functions for i in f.inputs})
        raise ValueError(f"profile shape {name!r} is neither a dim ({', '.join(graph.dims) or 'there are none'}) nor an input ({', '.join(inputs)})")
    shape = types[0].shape
    if len(shape) != len(values):
        raise ValueError(f"profile shape {name}={list(values)}: the input has rank {len(shape)}, {types[0]}")
    out: Point = {}
    for e, v in zip(shape, values):
        if isinstance(e, Dim) and out.setdefault(e.name, v) != v:
            raise ValueError(f"profile shape {name}={list(values)}: dim {e.name} is both {out[e.name]} and {v}")
    for axis, (e, v) in enumerate(zip(shape, values)):
        known = {s.name for s in intexpr.symbols(e)} <= out.keys()
        if known and intexpr.evaluate(e, out) != v:
            raise ValueError(f"profile shape {name}={list(values)}: axis {axis} is {e} = {intexpr.evaluate(e, out)}")
    return out


def values_of(d: Dim) -> list[int]:
    """Return the extents of a dim that are profiled unless others are asked for: its buckets, else a geometric series; its typical and largest."""
    if d.buckets:
        return sorted({*d.buckets, d.typical, d.max} - {0})
    out, v = {d.typical, d.max}, max(d.min, 1)
    while v < d.max:
        out.add(min(-(-v // d.divisible_by) * d.divisible_by, d.max))
        v *= STEP
    return sorted(out - {0})


def points(dims: Sequence[Dim], asked: Sequence[Request], fits: Callable[[Point], bool]) -> tuple[list[Point], list[Point]]:
    """Return (points to measure, points that do not fit) for the dims of one problem, at most MOST_POINTS unless more were asked for."""
    if not dims:
        return ([{}], []) if fits({}) else ([], [{}])
    wanted: dict[tuple[int, ...], None] = {}
    for request in asked or [{}]:
        per = {d.name: list(request.get(d.name) or values_of(d)) for d in dims}
        for d in dims:
            if d.name not in request:
                per[d.name] = _that_fit(d, per, dims, fits)
        while len(list(itertools.product(*per.values()))) > MOST_POINTS and any(len(v) > 2 and n not in request for n, v in per.items()):
            _thin(max((d for d in dims if d.name not in request and len(per[d.name]) > 2), key=lambda d: len(per[d.name])), per)
        wanted.update(dict.fromkeys(itertools.product(*per.values())))
    every = [dict(zip((d.name for d in dims), p)) for p in wanted]
    return [p for p in every if fits(p)], [p for p in every if not fits(p)]


def _that_fit(d: Dim, per: Mapping[str, Sequence[int]], dims: Sequence[Dim], fits: Callable[[Point], bool]) -> list[int]:
    """Return the values of a dim that fit beside the smallest values of the others; the smallest where none does."""
    least = {o.name: min(per[o.name]) for o in dims}
    return [v for v in per[d.name] if fits({**least, d.name: v})] or [min(per[d.name])]


def _thin(d: Dim, per: dict[str, list[int]]) -> None:
    """Drop the value of a dim whose neighbours are closest to it, but not its smallest, largest or typical one."""
    values = per[d.name]
    inner = [i for i in range(1, len(values) - 1) if values[i] != d.typical] or list(range(1, len(values) - 1))
    drop = min(inner, key=lambda i: values[i + 1] / max(values[i - 1], 1))
    per[d.name] = values[:drop] + values[drop + 1 :]
