"""From winners at some points to ranges of one integer.

Candidates within the noise of the best are equally good. Among them the listed order decides, unless another choice keeps the
number of ranges smaller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dinoml.profile.job import Timing

MARGIN = 0.02  # relative differences below this are noise, whatever the samples say
LEAST_NS = 100.0  # nobody notices less, and each range is one more kernel in the module
REACH = 4  # how far beyond the measured values a choice is trusted, as a factor


@dataclass(frozen=True)
class Measured:
    """Timings at one point; `dims` are the values of all dims of the kernel there."""

    dims: tuple[int, ...]
    timings: Mapping[str, Timing]


@dataclass(frozen=True)
class Range:
    """`candidate` where the product of the dims `over` is at most `upto` and at least `least` (None: unbounded)."""

    candidate: str
    over: tuple[int, ...] = ()
    upto: int | None = None
    least: int | None = None

    def to_json(self) -> dict[str, object]:
        """Return the plan's form."""
        out: dict[str, object] = {"candidate": self.candidate}
        if self.upto is not None or self.least is not None:
            out["over"] = list(self.over)
        return {**out, **({} if self.upto is None else {"upto": self.upto}), **({} if self.least is None else {"from": self.least})}


def margin(a: Timing, b: Timing) -> float:
    """Return the relative difference below which two timings are equal."""
    return max(MARGIN, max(LEAST_NS, math.hypot(a.error_ns, b.error_ns)) / max(min(a.median_ns, b.median_ns), 1e-9))


def acceptable(timings: Mapping[str, Timing]) -> dict[str, float]:
    """Return the candidates that are as fast as the best within the noise, with their time relative to it."""
    best = min(timings.values(), key=lambda t: t.median_ns)
    ratios = {n: t.median_ns / max(best.median_ns, 1e-9) for n, t in timings.items()}
    return {n: r for n, r in ratios.items() if r <= 1 + margin(timings[n], best)}


def ranges(points: Sequence[Measured], listed: Sequence[str], symbolic: Sequence[int], extents: Mapping[int, tuple[int, int]]) -> list[Range]:
    """Return the ranges that the measured points suggest; empty when nothing was measured.

    `listed` is the default order, `symbolic` the positions of dims that are known at run time only, `extents` their limits.
    """
    points = [p for p in points if p.timings]
    if not points:
        return []
    if len(listed) == 1:
        return [Range(listed[0])]
    options: list[tuple[int, ...]] = [(i,) for i in symbolic] or [()]
    if len(symbolic) > 1:
        options.append(tuple(symbolic))
    plans = [_along(points, listed, over, extents) for over in options]
    return min(plans, key=lambda p: (round(p[0], 3), len(p[1])))[1]


def _along(
    points: Sequence[Measured], listed: Sequence[str], over: tuple[int, ...], extents: Mapping[int, tuple[int, int]]
) -> tuple[float, list[Range]]:
    """Return (mean slowdown against the best of each point, ranges) for one integer."""
    groups: dict[int, list[Measured]] = {}
    for p in points:
        groups.setdefault(math.prod(p.dims[i] for i in over), []).append(p)
    values = sorted(groups)
    fits = [_group(groups[v], listed) for v in values]
    chosen = _fewest(fits, listed)
    costs = [_cost(p.timings, c) for v, c in zip(values, chosen) for p in groups[v]]
    low = math.prod(extents[i][0] for i in over)
    high = math.prod(extents[i][1] for i in over)
    return sum(costs) / len(costs), _merge(values, chosen, over, low, high)


def _group(points: Sequence[Measured], listed: Sequence[str]) -> list[str]:
    """Return the candidates that do for all points of one value: those acceptable everywhere, else the one that loses least."""
    common = [n for n in listed if all(n in acceptable(p.timings) for p in points)]
    return common or [min(listed, key=lambda n: (sum(_cost(p.timings, n) for p in points), listed.index(n)))]


def _cost(timings: Mapping[str, Timing], name: str) -> float:
    """Return the time of a candidate relative to the best; one that could not run loses against all that could."""
    if name not in timings:
        return 1e3
    ratio = timings[name].median_ns / max(min(t.median_ns for t in timings.values()), 1e-9)
    return 1.0 if name in acceptable(timings) else ratio


def _fewest(fits: Sequence[Sequence[str]], listed: Sequence[str]) -> list[str]:
    """Return one candidate per value: as few changes as possible, then as early in the listed order as possible."""
    best: dict[str, tuple[tuple[int, int], list[str]]] = {c: ((0, listed.index(c)), [c]) for c in fits[0]}
    for options in fits[1:]:
        step = {}
        for c in options:
            cost, path = min(((changes + (last != c), places), path) for last, ((changes, places), path) in best.items())
            step[c] = ((cost[0], cost[1] + listed.index(c)), [*path, c])
        best = step
    return min(best.values())[1]


def _merge(values: Sequence[int], chosen: Sequence[str], over: tuple[int, ...], low: int, high: int) -> list[Range]:
    """Return ranges with the borders half-way, on a logarithmic scale, between values whose choices differ."""
    out: list[Range] = []
    for i, c in enumerate(chosen):
        if i + 1 < len(chosen) and chosen[i + 1] == c:
            continue
        last = i + 1 == len(chosen)
        border = values[i] * REACH if last else max(values[i], math.isqrt(values[i] * values[i + 1]))
        out.append(Range(c, over, None if last and border >= high else border))
    if over and values[0] > max(low, 1) * REACH:
        out = [replace(r, least=values[0] // REACH) for r in out]
    return out
