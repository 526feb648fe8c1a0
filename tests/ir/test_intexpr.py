"""Symbolic integers: what simplification, bounds and proofs say holds for every value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dinoml.ir import intexpr, shapes
from dinoml.ir.intexpr import IntLike, Symbol
from dinoml.ir.shapes import Dim

A, B, D = Dim("a", min=0, max=7), Dim("b", min=1, max=5), Dim("d", min=4, max=16, divisible_by=4)
ROW, COLUMN = Symbol("row", extent=B), Symbol("column", extent=intexpr.mul(A, 3))
DIMS = (A, B, D)
SYMBOLS = (*DIMS, ROW, COLUMN)
Env = Mapping[str, int]


@dataclass(frozen=True)
class Both:
    """An expression as the library builds it, and what it means in plain Python."""

    expr: IntLike
    value: Callable[[Env], int]


_OPS: dict[str, tuple[Callable[[IntLike, IntLike], IntLike], Callable[[int, int], int]]] = {
    "+": (intexpr.add, operator.add),
    "-": (lambda a, b: intexpr.add(a, intexpr.mul(-1, b)), operator.sub),
    "*": (intexpr.mul, operator.mul),
    "min": (intexpr.minimum, min),
    "max": (intexpr.maximum, max),
    "//": (intexpr.floordiv, operator.floordiv),
    "%": (intexpr.mod, operator.mod),
}


def _apply(op: str, x: Both, y: Both) -> Both:
    build, mean = _OPS[op]
    return Both(build(x.expr, y.expr), lambda env: mean(x.value(env), y.value(env)))


def _symbol(s: Symbol) -> Both:
    return Both(s, lambda env: env[s.name])


def _number(v: int) -> Both:
    return Both(v, lambda env: v)


LEAVES = st.one_of(st.sampled_from(SYMBOLS).map(_symbol), st.integers(-6, 12).map(_number))
SUMS = st.tuples(st.sampled_from([A, B, D]), st.sampled_from([B, D]), st.integers(1, 3)).map(
    lambda t: _apply("+", _apply("*", _symbol(t[0]), _number(t[2])), _symbol(t[1]))
)
PRODUCTS = st.tuples(st.sampled_from([B, D]), st.integers(1, 3)).map(lambda t: _apply("*", _symbol(t[0]), _number(t[1])))
DIVISORS = st.one_of(st.sampled_from([B, D]).map(_symbol), st.integers(1, 7).map(_number), PRODUCTS, SUMS)  # positive in every environment


def _grow(inner: st.SearchStrategy[Both]) -> st.SearchStrategy[Both]:
    free = st.tuples(st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner)
    divided = st.tuples(st.sampled_from(["//", "%"]), inner, DIVISORS)
    return st.one_of(free, divided).map(lambda t: _apply(*t))


EXPRESSIONS = st.recursive(LEAVES, _grow, max_leaves=8)


@st.composite
def environments(draw: st.DrawFn) -> Env:
    """Values of all symbols; a coordinate whose extent is empty has none, so there is no such environment."""
    a, b = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    d = 4 * draw(st.integers(1, 4))
    return {"a": a, "b": b, "d": d, "row": draw(st.integers(0, b - 1)), "column": draw(st.integers(0, 3 * a - 1))}


MANY = settings(max_examples=800)


@MANY
@given(EXPRESSIONS, environments())
def test_canonical_form_means_the_same(x: Both, env: Env) -> None:
    assert intexpr.evaluate(x.expr, env) == x.value(env)


@MANY
@given(EXPRESSIONS, environments())
def test_bounds_and_divisors_hold(x: Both, env: Env) -> None:
    value = x.value(env)
    lo, hi = intexpr.bounds(x.expr)
    assert lo <= value <= hi
    by = intexpr.divisor(x.expr)
    assert value % by == 0 if by else value == 0
    assert intexpr.evaluate(intexpr.upper_bound(x.expr), env) >= value


@MANY
@given(EXPRESSIONS, EXPRESSIONS, environments())
def test_proofs_are_never_wrong(x: Both, y: Both, env: Env) -> None:
    if intexpr.nonnegative(x.expr):
        assert x.value(env) >= 0
    if intexpr.less(x.expr, y.expr):
        assert x.value(env) < y.value(env)
    if x.expr == y.expr:
        assert x.value(env) == y.value(env) and hash(x.expr) == hash(y.expr)


@MANY
@given(EXPRESSIONS, environments(), environments())
def test_substitution_and_recombination(x: Both, env: Env, other: Env) -> None:
    new: dict[Symbol, IntLike] = {A: intexpr.add(intexpr.floordiv(D, 4), 1), ROW: intexpr.mod(ROW, B), COLUMN: intexpr.floordiv(COLUMN, 2)}
    moved = {**env, **{s.name: intexpr.evaluate(e, env) for s, e in new.items()}}
    assert intexpr.evaluate(intexpr.substitute(x.expr, new.get), env) == intexpr.evaluate(x.expr, moved)
    assert intexpr.evaluate(intexpr.recombine(x.expr), env) == x.value(env)


@settings(max_examples=300)
@given(EXPRESSIONS)
def test_arrays_are_evaluated_like_numbers(x: Both) -> None:
    rows = np.arange(3)
    env = {"a": 4, "b": 3, "d": 8, "row": rows, "column": 5}
    want = [x.value({**env, "row": int(r)}) for r in rows]  # type: ignore[dict-item]
    assert np.array_equal(np.broadcast_to(intexpr.evaluate(x.expr, env), (3,)), want)


@settings(max_examples=300)
@given(EXPRESSIONS, environments())
def test_json_round_trip(x: Both, env: Env) -> None:
    swap = {ROW: A, COLUMN: B}  # coordinates never occur in shapes
    e = intexpr.substitute(x.expr, swap.get)
    assert shapes.from_json(shapes.to_json(e), {d.name: d for d in DIMS}) == e


IDENTITIES: list[tuple[str, IntLike, IntLike]] = [
    ("commutes", A + B, B + A),
    ("distributes", (A + 1) * (B + 2), A * B + 2 * A + B + 2),
    ("cancels", A - A, 0),
    ("divides products", (A * B * 6) // (3 * B), A * 2),
    ("drops remainders", (A * B + ROW) // B, A),
    ("finds remainders", (A * B + ROW) % B, ROW),
    ("a coordinate is below its extent", ROW // B, 0),
    ("nested divisions by numbers", (COLUMN // 2) // 3, COLUMN // 6),
    ("nested divisions by dims", (COLUMN // B) // D, COLUMN // (B * D)),
    ("multiples", (4 * A) % 4, 0),
    ("known divisors", (D + 8 * A) % 4, 0),
    ("common factors", (6 * A) // 4, (3 * A) // 2),
    ("min of ordered", intexpr.minimum(A, A + B), A),
    ("max of ordered", intexpr.maximum(A, A + B), A + B),
    ("min of equals", intexpr.minimum(A, A), A),
    ("order of arguments", intexpr.minimum(A, B), intexpr.minimum(B, A)),
    ("recombined", intexpr.recombine(B * (COLUMN // B) + COLUMN % B), COLUMN),
    ("recombined in three parts", intexpr.recombine(D * B * (COLUMN // (D * B)) + B * ((COLUMN // B) % D) + COLUMN % B), COLUMN),
    ("division by one", A // 1, A),
    ("round up", intexpr.ceildiv(A * 4, 4), A),
]


@pytest.mark.parametrize(("what", "left", "right"), IDENTITIES, ids=[i[0] for i in IDENTITIES])
def test_identity(what: str, left: IntLike, right: IntLike) -> None:
    assert left == right, f"{left} is not {right}"


def test_division_by_zero_is_refused() -> None:
    with pytest.raises(ZeroDivisionError):
        intexpr.floordiv(A, 0)


def test_truth_is_refused() -> None:
    with pytest.raises(TypeError, match="run time"):
        bool(A * 2)


def test_equal_names_with_other_extents_differ() -> None:
    assert Symbol("i", extent=4) != Symbol("i", extent=5)
