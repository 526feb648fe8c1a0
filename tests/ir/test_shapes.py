"""Dims, shapes and broadcasting."""

from __future__ import annotations

import pytest

from dinoml.ir import graph, shapes
from dinoml.ir.intexpr import IntLike, Opaque
from dinoml.ir.shapes import Dim

N, M = Dim("n", min=1, max=8), Dim("m", min=2, max=6, divisible_by=2)


def test_dim_defaults() -> None:
    assert (N.min, N.max, N.typical, N.buckets) == (1, 8, 8, ())
    d = Dim("d", min=0, max=12, typical=4, buckets=(8, 4, 8), divisible_by=4)
    assert d.buckets == (4, 8)
    assert shapes.dim_from_json(shapes.dim_to_json(d)).same(d)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"name": "no space"}, "identifier"),
        ({"name": "n", "min": 5, "max": 2}, "min <= max"),
        ({"name": "n", "min": -1}, "0 <= min"),
        ({"name": "n", "divisible_by": 0}, "at least 1"),
        ({"name": "n", "min": 3, "max": 8, "divisible_by": 2}, "min=3 is not a multiple"),
        ({"name": "n", "max": 8, "typical": 9}, "typical=9 is outside"),
        ({"name": "n", "max": 8, "buckets": (4, 9)}, "bucket=9 is outside"),
    ],
)
def test_contradictory_dims(arguments: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Dim(**arguments)


def test_shapes_are_checked() -> None:
    assert shapes.shape([2, N, N * 2]) == (2, N, N * 2)
    with pytest.raises(ValueError, match="axis 1 is -1"):
        shapes.shape([2, -1])
    with pytest.raises(ValueError, match="can become negative"):
        shapes.shape([N - 4])
    with pytest.raises(TypeError, match=r"axis 0 is 1\.5"):
        shapes.shape([1.5])
    with pytest.raises(TypeError, match="axis 0 is True"):
        shapes.shape([True])


def test_one_name_has_one_meaning() -> None:
    with pytest.raises(ValueError, match="two different dims are named 'n'"):
        shapes.dims_of(N, Dim("n", min=1, max=9))
    assert shapes.dims_of(N * M, N + 1) == {"n": N, "m": M}


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        ((3, 1), (4,), (3, 4)),
        ((N, 1), (1, M), (N, M)),
        ((), (N,), (N,)),
        ((1,), (0,), (0,)),
        ((N, 5), (N, 5), (N, 5)),
    ],
)
def test_broadcast(a: tuple[IntLike, ...], b: tuple[IntLike, ...], want: tuple[IntLike, ...]) -> None:
    assert graph.broadcast(a, b, "x") == want
    assert graph.broadcast(b, a, "x") == want


def test_broadcast_names_the_axis() -> None:
    with pytest.raises(ValueError, match=r"axis 1: 3 against 4"):
        graph.broadcast((2, 3), (2, 4), "x")
    with pytest.raises(ValueError, match="n against m"):
        graph.broadcast((N,), (M,), "x")


def test_row_major() -> None:
    assert shapes.row_major((2, N, 3)) == (N * 3, 3, 1)
    assert shapes.row_major(()) == ()


def test_json_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="unknown dim 'k'"):
        shapes.from_json({"dim": "k"}, {"n": N})
    with pytest.raises(ValueError, match="not a symbolic integer"):
        shapes.from_json("n", {"n": N})
    with pytest.raises(TypeError, match="run-time values"):
        shapes.to_json(Opaque("i", 4))
