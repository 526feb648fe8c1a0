"""Planning the arena: where every temporary lies while it lives.

One plan per combination of dim buckets (the last covers the maxima); within it the largest buffers are placed first, each
into the smallest gap between buffers whose lifetimes overlap its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike, Symbol
from dinoml.ir.shapes import Dim

ALIGNMENT = 64
MAX_PLANS = 64


@dataclass(frozen=True)
class Buffer:
    """A temporary: its bytes and the first and last step that touch it."""

    value: str
    dtype: str
    nbytes: IntLike
    first: int
    last: int


@dataclass(frozen=True)
class ArenaPlan:
    """Offsets that hold while every dim is at most `upper`."""

    upper: tuple[int, ...]
    offsets: tuple[int, ...]
    nbytes: int


def upper_value(x: IntLike, upper: Mapping[str, int]) -> int:
    """Return the largest value of x when each named dim is at most `upper`."""

    def bound(s: Symbol) -> IntLike | None:
        return Symbol(s.name, s.lo, min(s.hi, upper[s.name])) if s.name in upper else None

    return max(intexpr.bounds(intexpr.substitute(x, bound))[1], 0)


def plan_arena(buffers: Sequence[Buffer], dims: Mapping[str, Dim], buckets: bool = True) -> tuple[ArenaPlan, ...]:
    """Return the arena plans of a function, smallest first; without `buckets` only the one for the largest dims."""
    choices = [sorted({*(d.buckets if buckets else ()), d.hi}) for d in dims.values()]
    combos = list(itertools.product(*choices))
    if len(combos) > MAX_PLANS:
        combos = [tuple(d.typical for d in dims.values()), tuple(d.hi for d in dims.values())]
    plans = [_place(buffers, dict(zip(dims, combo)), combo) for combo in combos]
    return tuple(sorted(plans, key=lambda p: (p.nbytes, p.upper)))


def _place(buffers: Sequence[Buffer], upper: Mapping[str, int], combo: tuple[int, ...]) -> ArenaPlan:
    sizes = [-(-upper_value(b.nbytes, upper) // ALIGNMENT) * ALIGNMENT for b in buffers]
    offsets = [0] * len(buffers)
    placed: list[int] = []
    for i in sorted(range(len(buffers)), key=lambda i: (-sizes[i], buffers[i].first, buffers[i].value)):
        taken = sorted((offsets[j], offsets[j] + sizes[j]) for j in placed if _overlap(buffers[i], buffers[j]) and sizes[j])
        best, best_gap, end = -1, 0, 0
        for low, high in taken:
            gap = low - end
            if gap >= sizes[i] and (best < 0 or gap < best_gap):
                best, best_gap = end, gap
            end = max(end, high)
        offsets[i] = best if best >= 0 else end
        placed.append(i)
    total = max((o + s for o, s in zip(offsets, sizes)), default=0)
    return ArenaPlan(combo, tuple(offsets), total)


def _overlap(a: Buffer, b: Buffer) -> bool:
    return a.first <= b.last and b.first <= a.last


def lower_bound(buffers: Sequence[Buffer], upper: Mapping[str, int]) -> int:
    """Return the bytes that are alive at the fullest step: no plan can be smaller."""
    steps = {b.first for b in buffers}
    return max((sum(upper_value(b.nbytes, upper) for b in buffers if b.first <= s <= b.last) for s in steps), default=0)
