"""Scalar expressions: selection, guards, substitution, typing."""

from __future__ import annotations

import math

import pytest

from dinoml.ir import expr as ex
from dinoml.ir import intexpr
from dinoml.ir.expr import Const, Expr, Index, Read, Select
from dinoml.ir.intexpr import Symbol

ROW, J = Symbol("i", extent=8), Symbol("j", extent=5)
X, Y = Read("x", "float32", (ROW,)), Read("y", "float32", (J,))
ONE = Const(1.0, "float32")
INSIDE = (intexpr.add(ROW, -2), intexpr.add(5, intexpr.mul(-1, ROW)))  # 2 <= i <= 5


def test_select_drops_what_always_holds() -> None:
    assert ex.select((ROW, intexpr.add(ROW, 1)), X, ONE) == X


def test_select_resolves_what_never_holds() -> None:
    assert ex.select((intexpr.add(ROW, -9),), X, ONE) == ONE


def test_select_guards_both_sides_of_one_condition() -> None:
    out = ex.select((INSIDE[0],), X, Y)
    assert isinstance(out, Select) and isinstance(out.a, Read) and isinstance(out.b, Read)
    assert out.a.guard == (INSIDE[0],)
    assert out.b.guard == (intexpr.add(1, intexpr.mul(-1, ROW)),)  # i <= 1


def test_select_of_several_conditions_leaves_the_other_side_alone() -> None:
    out = ex.select(INSIDE, X, Y)
    assert isinstance(out, Select) and out.a.guard == INSIDE and out.b == Y  # type: ignore[union-attr]


def test_guards_reach_reads_inside_run_time_indices() -> None:
    ids = Read("ids", "int64", (intexpr.add(ROW, -2),))
    row = Read("table", "float32", (ex.runtime_index(ids, 7, "ids"), J))
    out = ex.guarded(row, (INSIDE[0],))
    assert {r.source: r.guard for r in ex.reads(out)} == {"ids": (INSIDE[0],), "table": (INSIDE[0],)}


def test_reads_come_in_the_order_of_need() -> None:
    ids = Read("ids", "int64", (ROW,))
    row = Read("table", "float32", (ex.runtime_index(ids, 7, "ids"), J))
    assert [r.source for r in ex.reads(ex.call("add", row, X))] == ["ids", "table", "x"]


def test_substitution_simplifies() -> None:
    out = ex.substitute_index(ex.select((INSIDE[0],), X, ONE), lambda s: 3 if s == ROW else None)
    assert out == Read("x", "float32", (3,))
    assert ex.substitute_index(ex.select((INSIDE[0],), X, ONE), lambda s: 1 if s == ROW else None) == ONE


def test_run_time_index_of_a_number_is_the_number() -> None:
    assert ex.runtime_index(Const(3, "int64"), 7, "ids") == 3


@pytest.mark.parametrize(
    ("fn", "args", "why"),
    [
        ("sinh", (X,), "unknown function 'sinh'"),
        ("add", (X,), "takes 2 values, got 1"),
        ("add", (X, Const(1, "int32")), "operands differ in dtype"),
        ("exp", (Const(1, "int32"),), "does not take int32"),
    ],
)
def test_calls_are_typed(fn: str, args: tuple[Expr, ...], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        ex.call(fn, *args)


def test_comparisons_are_bool() -> None:
    assert ex.call("lt", X, Y).dtype == "bool"


def test_literals_keep_signs_and_nan_apart() -> None:
    assert Const(0.0, "float32") != Const(-0.0, "float32")
    assert Const(math.nan, "float32") == Const(math.nan, "float32")
    assert Const(1, "int32") != Const(True, "int32")
    with pytest.raises(TypeError, match="not an integer"):
        ex.typed_const(1.5, "int32")


def test_shared_parts_are_visited_once() -> None:
    x: Expr = X
    for _ in range(60):  # 2**60 paths
        x = ex.call("add", x, x)
    assert len(list(ex.walk(x))) == 61
    assert ex.cost(x) == 60
    moved = ex.substitute_index(x, lambda s: intexpr.add(J, 1) if s == ROW else None)
    assert len(list(ex.walk(moved))) == 61


def test_show() -> None:
    x = ex.select((INSIDE[0],), ex.call("mul", X, ONE), ex.cast(Index(ROW, "int32"), "float32"))
    assert ex.show(x).startswith("select(") and "x[i" in ex.show(x)
