"""`tensor[...]`: integers, slices with steps, None and Ellipsis in terms of the view operators named by the specs' sugar."""

from __future__ import annotations

from typing import Any

from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntExpr, IntLike
from dinoml.operators.call import OperatorError
from dinoml.operators.value import Tensor


def _integer(x: object) -> bool:
    return isinstance(x, IntExpr) or (hasattr(x, "__index__") and not isinstance(x, bool))


def _expand(t: Tensor, item: Any) -> list[Any]:
    """Return one entry per axis and None; refuse anything else."""
    items = list(item) if isinstance(item, tuple) else [item]
    for x in items:
        if not (x is None or x is Ellipsis or isinstance(x, slice) or (_integer(x) and not isinstance(x, Tensor))):
            raise OperatorError(
                f"cannot index {t!r} with {x!r}: integers, slices, None and ... are accepted; "
                "use dinoml.ops.index_select or gather for index tensors and dinoml.ops.masked_select for masks"
            )
    used = sum(1 for x in items if x is not None and x is not Ellipsis)
    if used > t.rank:
        raise OperatorError(f"{used} indices for {t!r} of rank {t.rank}")
    if sum(1 for x in items if x is Ellipsis) > 1:
        raise OperatorError("an index may contain one ...")
    fill = [slice(None)] * (t.rank - used)
    at = next((i for i, x in enumerate(items) if x is Ellipsis), None)
    return items + fill if at is None else items[:at] + fill + items[at + 1 :]


def _wrap(i: IntLike, extent: IntLike) -> IntLike:
    """Return an index counted from the front."""
    i = i if isinstance(i, IntExpr) else int(i)
    return intexpr.add(i, extent) if intexpr.bounds(i)[1] < 0 else i


def _clamp(i: IntLike, low: IntLike, high: IntLike) -> IntLike:
    return intexpr.maximum(low, intexpr.minimum(_wrap(i, high if low == 0 else intexpr.add(high, 1)), high))


def bounds_of(s: slice, extent: IntLike) -> tuple[IntLike, IntLike, int]:
    """Return (start, stop, step) of a slice, clamped as Python does; stop is -1 for a reversed slice that reaches the front."""
    step = 1 if s.step is None else int(s.step)
    if step == 0:
        raise OperatorError("slice step cannot be 0")
    if step > 0:
        start = 0 if s.start is None else _clamp(s.start, 0, extent)
        stop = extent if s.stop is None else _clamp(s.stop, 0, extent)
        return start, stop, step
    last = intexpr.add(extent, -1)
    start = last if s.start is None else _clamp(s.start, -1, last)
    stop = -1 if s.stop is None else _clamp(s.stop, -1, last)
    return start, stop, step


def getitem(t: Tensor, item: Any) -> Tensor:
    """Return the indexed view; raise OperatorError for what is not an index or lies outside."""
    starts: list[IntLike] = []
    stops: list[IntLike] = []
    steps: list[int] = []
    dropped: list[int] = []
    added: list[int] = []
    axis = 0
    position = 0  # among the axes of the result, squeezed ones excluded
    for x in _expand(t, item):
        if x is None:
            added.append(position)
            position += 1
            continue
        extent = t.shape[axis]
        if isinstance(x, slice):
            start, stop, step = bounds_of(x, extent)
            position += 1
        else:
            start, step = _wrap(x, extent), 1
            if intexpr.bounds(start)[1] < 0 or (intexpr.nonnegative(intexpr.add(start, intexpr.mul(-1, extent))) and extent != 0):
                raise OperatorError(f"index {x} is outside axis {axis} of {t!r} with extent {extent}")
            stop = intexpr.add(start, 1)
            dropped.append(axis)
        starts.append(start)
        stops.append(stop)
        steps.append(step)
        axis += 1
    out = t
    if any(a != 0 or b != d or c != 1 for a, b, c, d in zip(starts, stops, steps, t.shape)):
        out = out._sugar("__getitem__", out, tuple(starts), tuple(stops), tuple(steps))
    if dropped:
        out = out._sugar("index:squeeze", out, tuple(dropped))
    for a in added:
        out = out._sugar("index:unsqueeze", out, a)
    return out
