"""Split as one slice for each piece."""

from __future__ import annotations

from typing import Any

from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def _sizes(extent: IntLike, wanted: Any) -> list[IntLike]:
    if isinstance(wanted, (list, tuple)):
        if sum(wanted[1:], wanted[0]) != extent:
            raise ValueError(f"split: the sections {tuple(wanted)} add up to {sum(wanted[1:], wanted[0])}, the axis has extent {extent}")
        return list(wanted)
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
        raise ValueError(f"split: split_size_or_sections must be a positive integer or a list of sizes, got {wanted!r}")
    if not isinstance(extent, int):
        raise ValueError(f"split: the extent {extent} is known only at run time, so the number of pieces is not fixed; give a list of sizes")
    return [min(wanted, extent - at) for at in range(0, max(extent, 1), wanted)]


def expand(b: Builder, x: Tensor, *, split_size_or_sections: Any, dim: int) -> tuple[Tensor, ...]:
    out: list[Tensor] = []
    at: IntLike = 0
    for size in _sizes(x.shape[dim], split_size_or_sections):
        start: list[IntLike] = [0] * x.rank
        stop = list(x.shape)
        start[dim], stop[dim] = at, intexpr.add(at, size)
        out.append(b.slice(x, tuple(start), tuple(stop)))
        at = stop[dim]
    return tuple(out)
