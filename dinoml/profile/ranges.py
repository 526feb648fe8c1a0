"""From winners at some points to ranges of one integer in which a plan departs from the listed order.

Candidates within the noise of the best are equally good: where the listed order's own choice is among them, it stands, unless
another choice keeps the number of ranges smaller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


LISTED = ""  # stands for what the listed order chooses


def margin(a: Timing, b: Timing) -> float:
    """Return the relative difference below which two timings are equal."""
    return max(MARGIN, max(LEAST_NS, math.hypot(a.error_ns, b.error_ns)) / max(min(a.median_ns, b.median_ns), 1e-9))


def acceptable(timings: Mapping[str, Timing]) -> dict[str, float]:
    """Return the candidates that are as fast as the best within the noise, with their time relative to it."""
    best = min(timings.values(), key=lambda t: t.median_ns)
    ratios = {n: t.median_ns / max(best.median_ns, 1e-9) for n, t in timings.items()}
    return {n: r for n, r in ratios.items() if r <= 1 + margin(timings[n], best)}


def ranges(points: Sequence[Measured], listed: Sequence[str], symbolic: Sequence[int], extents: Mapping[int, tuple[int, int]]) -> list[Range]:
    """Return where the measured points suggest another choice than the listed order; empty when they do nowhere.

    `listed` is that order, `symbolic` the positions of dims that are known at run time only, `extents` their limits.
    """
    points = [p for p in points if p.timings]
    if not points:
        return []
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
    order = [LISTED, *listed]
    chosen = _fewest([_group(groups[v], order) for v in values], order)
    costs = [_cost(p.timings, _name(c, p, order)) for v, c in zip(values, chosen) for p in groups[v]]
    low = math.prod(extents[i][0] for i in over)
    high = math.prod(extents[i][1] for i in over)
    return sum(costs) / len(costs), _merge(values, chosen, over, low, high)


def _name(choice: str, point: Measured, order: Sequence[str]) -> str:
    """Return the candidate that a choice means at a point."""
    return next(n for n in order if n in point.timings) if choice == LISTED else choice


def _group(points: Sequence[Measured], order: Sequence[str]) -> list[str]:
    """Return the choices that do for all points of one value: those acceptable everywhere, else the one that loses least."""
    common = [c for c in order if all(_name(c, p, order) in acceptable(p.timings) for p in points)]
    return common or [min(order, key=lambda c: (sum(_cost(p.timings, _name(c, p, order)) for p in points), order.index(c)))]


def _cost(timings: Mapping[str, Timing], name: str) -> float:
    """Return the time of a candidate relative to the best; one that could not run loses against all that could."""
    if name not in timings:
        return 1e3
    ratio = timings[name].median_ns / max(min(t.median_ns for t in timings.values()), 1e-9)
    return 1.0 if name in acceptable(timings) else ratio


def _fewest(fits: Sequence[Sequence[str]], order: Sequence[str]) -> list[str]:
    """Return one choice per value: as few changes as possible, then as early in the order as possible."""
    best: dict[str, tuple[tuple[int, int], list[str]]] = {c: ((0, order.index(c)), [c]) for c in fits[0]}
    for options in fits[1:]:
        step = {}
        for c in options:
            cost, path = min(((changes + (last != c), places), path) for last, ((changes, places), path) in best.items())
            step[c] = ((cost[0], cost[1] + order.index(c)), [*path, c])
        best = step
    return min(best.values())[1]


def _merge(values: Sequence[int], chosen: Sequence[str], over: tuple[int, ...], low: int, high: int) -> list[Range]:
    """Return one range per run of equal choices, with the borders half-way, on a logarithmic scale, between values whose choices differ."""
    out: list[Range] = []
    least = values[0] // REACH if over and values[0] > max(low, 1) * REACH else None
    for i, c in enumerate(chosen):
        last = i + 1 == len(chosen)
        if not last and chosen[i + 1] == c:
            continue
        border = values[i] * REACH if last else max(values[i], math.isqrt(values[i] * values[i + 1]))
        if c != LISTED:
            out.append(Range(c, over, None if last and (not over or border >= high) else border, least))
        least = border + 1
    return out
