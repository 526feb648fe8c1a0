"""Reshape: the row-major linear index is the same on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from dinoml.ir import expr, intexpr, shapes
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.ir.shapes import Shape
from dinoml.operators import OpCall


def canonical(c: OpCall) -> dict[str, Shape]:
    """Replace -1 by the extent it stands for."""
    x = c.input("x")
    target = list(c["shape"])
    unknown = [i for i, d in enumerate(target) if isinstance(d, int) and d == -1]
    if len(unknown) > 1:
        c.fail(f"shape {shapes.show(target)} has more than one -1")
    if unknown:
        known = intexpr.product(d for i, d in enumerate(target) if i != unknown[0])
        target[unknown[0]] = _missing(c, x, known)
    return {"shape": c.shape(target)}


def infer(c: OpCall) -> TensorType:
    x, out = c.input("x"), c["shape"]
    if intexpr.product(out) != x.numel:
        c.fail(f"{shapes.show(x.shape)} has {x.numel} elements, {shapes.show(out)} has {intexpr.product(out)}")
    return TensorType(x.dtype, out)


def _missing(c: OpCall, x: TensorType, known: IntLike) -> IntLike:
    if known == 0:
        c.fail("-1 cannot be computed beside an extent of 0; give all extents")
    whole = intexpr.floordiv(x.numel, known)
    if intexpr.mul(whole, known) != x.numel:
        c.fail(f"{shapes.show(x.shape)} has {x.numel} elements, which {known} does not divide for certain")
    return whole


def linear(index: Sequence[IntLike], shape: Sequence[IntLike]) -> IntLike:
    """Return the row-major linear index."""
    out: IntLike = 0
    for i, d in zip(index, shape):
        out = intexpr.add(intexpr.mul(out, d), i)
    return out


def unlinear(flat: IntLike, shape: Sequence[IntLike]) -> tuple[IntLike, ...]:
    """Return the coordinates of a row-major linear index."""
    out: list[IntLike] = []
    inner: IntLike = 1
    for axis in reversed(range(len(shape))):
        whole = intexpr.floordiv(flat, inner) if inner != 0 else 0
        out.append(whole if axis == 0 else intexpr.mod(whole, shape[axis]) if shape[axis] != 0 else 0)
        inner = intexpr.mul(inner, shape[axis])
    return tuple(reversed(out))


def _regroup(index: Sequence[IntLike], source: Sequence[IntLike], target: Sequence[IntLike]) -> tuple[IntLike, ...]:
    """Map coordinates of `source` to coordinates of `target`, group by group of axes with equal products: simpler indices."""
    out: list[IntLike] = []
    i = j = 0
    while i < len(source) or j < len(target):
        if i < len(source) and j < len(target) and source[i] == target[j]:
            out.append(index[i])
            i, j = i + 1, j + 1
            continue
        i2, j2 = _group(source, target, i, j)
        out += unlinear(linear(index[i:i2], source[i:i2]), target[j:j2])
        i, j = i2, j2
    return tuple(out)


def _group(source: Sequence[IntLike], target: Sequence[IntLike], i: int, j: int) -> tuple[int, int]:
    """Return the ends of the shortest groups from i and j whose products agree."""
    best = (len(source), len(target))
    for i2 in range(i, len(source) + 1):
        for j2 in range(j, len(target) + 1):
            shorter = (i2, j2) != (i, j) and i2 + j2 < sum(best)
            if shorter and all(
                intexpr.product(source[a]) == intexpr.product(target[b])
                for a, b in ((slice(i, i2), slice(j, j2)), (slice(i2, None), slice(j2, None)))
            ):
                best = (i2, j2)
    return best


def define(c: OpCall, index: tuple[IntLike, ...]) -> expr.Expr:
    x = c.input("x")
    return c.read("x", _regroup(index, c["shape"], x.shape))


def place(c: OpCall, i: int, index: tuple[IntLike, ...]) -> tuple[IntLike, ...]:
    return _regroup(index, c.input("x").shape, c["shape"])
