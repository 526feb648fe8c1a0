"""Einsum: lonely letters are summed, then one batched product, then a permutation."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.operators.build import Builder
from dinoml.operators.call import OperatorError
from dinoml.operators.value import Tensor


def _parse(equation: str, count: int) -> tuple[list[str], str]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != count or not all(t.isalpha() or t == "" for t in [*terms, right]):
        raise OperatorError(f"einsum: {equation!r} must name each of the {count} operands by letters and the result after ->")
    if any(len(set(t)) != len(t) for t in [*terms, right]):
        raise OperatorError(f"einsum: {equation!r} repeats a letter in one term; diagonals are not supported")
    if set(right) - set("".join(terms)):
        raise OperatorError(f"einsum: {equation!r} has letters in the result that no operand has")
    return terms, right


def _sum_lonely(b: Builder, x: Tensor, term: str, kept: set[str]) -> tuple[Tensor, str]:
    lonely = tuple(i for i, ch in enumerate(term) if ch not in kept)
    if lonely:
        x = b.reduce_sum(x, dim=lonely)
    return x, "".join(ch for ch in term if ch in kept)


def _ordered(b: Builder, x: Tensor, term: str, wanted: str) -> Tensor:
    return x if term == wanted else b.permute(x, tuple(term.index(ch) for ch in wanted))


def expand(b_: Builder, a: Tensor, b: Tensor | None, *, equation: str) -> Tensor:
    operands = [a] if b is None else [a, b]
    terms, right = _parse(equation, len(operands))
    for t, x in zip(terms, operands):
        if len(t) != x.rank:
            raise OperatorError(f"einsum: {t!r} names {len(t)} axes of {x!r}")
    if b is None:
        y, term = _sum_lonely(b_, a, terms[0], set(right))
        return _ordered(b_, y, term, right)
    x0, t0 = _sum_lonely(b_, a, terms[0], set(right) | set(terms[1]))
    x1, t1 = _sum_lonely(b_, b, terms[1], set(right) | set(terms[0]))
    extents = dict(zip(t0, x0.shape))
    for ch, extent in zip(t1, x1.shape):
        if extents.setdefault(ch, extent) != extent:
            raise OperatorError(f"einsum: the letter {ch!r} has extents {extents[ch]} and {extent}")
    batch = [ch for ch in right if ch in t0 and ch in t1]
    contracted = [ch for ch in t0 if ch in t1 and ch not in right]
    rows = [ch for ch in t0 if ch not in t1]
    columns = [ch for ch in t1 if ch not in t0]

    def matrix(x: Tensor, term: str, first: list[str], second: list[str]) -> Tensor:
        x = _ordered(b_, x, term, "".join(batch + first + second))
        parts = [intexpr.product(extents[ch] for ch in group) for group in (first, second)]
        return b_.reshape(x, (*(extents[ch] for ch in batch), *parts))  # type: ignore[no-any-return]

    y = b_.gemm(matrix(x0, t0, rows, contracted), matrix(x1, t1, contracted, columns))
    y = b_.reshape(y, tuple(extents[ch] for ch in batch + rows + columns))
    return _ordered(b_, y, "".join(batch + rows + columns), right)
