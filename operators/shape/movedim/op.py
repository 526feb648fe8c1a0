"""Movedim as a permutation."""

from __future__ import annotations

from dinoml.ir.graph import axis_of
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, *, source: tuple[int, ...], destination: tuple[int, ...]) -> Tensor:
    moved = [axis_of(s, x.rank, "movedim: source") for s in source]
    places = [axis_of(d, x.rank, "movedim: destination") for d in destination]
    if len(moved) != len(places) or len(set(moved)) != len(moved) or len(set(places)) != len(places):
        raise ValueError(f"movedim: source={source} and destination={destination} must name as many different axes")
    rest = iter([i for i in range(x.rank) if i not in moved])
    at = dict(zip(places, moved))
    return b.permute(x, tuple(at[i] if i in at else next(rest) for i in range(x.rank)))  # type: ignore[no-any-return]
