"""The verifier names what is wrong with a graph, where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import dinoml as dml
from dinoml.ir.graph import Constant, Function, Graph, Node, Output, State, StateWrite, TensorType
from dinoml.ir.verify import VerifyError, verify
from dinoml.passes.manager import infer

X = TensorType("float32", (4, 8))


def good() -> Graph:
    """Return a small valid graph: relu(x) + w, and a state that takes the sum."""
    f = Function(
        name="main",
        inputs=("x",),
        outputs=(Output("y", "sum"),),
        nodes=(Node("a", "relu", ("x",), ("r",), (), "model.py:3"), Node("b", "add", ("r", "w"), ("sum",), (), "model.py:4")),
        types={"x": X, "w": X, "r": X, "sum": X, "s": X},
        constants=("w",),
        states={"s": "memory"},
        writes=(StateWrite("memory", "sum"),),
    )
    w = Constant("w", X)
    return Graph("g", (f,), (w,), (w,), (State("memory", X),))


def edit(**changes: object) -> Callable[[Graph], Graph]:
    return lambda g: g.map(lambda f: replace(f, **changes))


def nodes(*items: Node) -> Callable[[Graph], Graph]:
    return edit(nodes=items)


F = good().functions[0]
A, B = F.nodes
BROKEN: dict[str, tuple[Callable[[Graph], Graph], str]] = {
    "use before definition": (nodes(B, A), r"node b \(add, model.py:4\) uses 'r', which is made only later"),
    "undefined value": (nodes(replace(A, inputs=("ghost",)), B), r"node a \(relu, model.py:3\) uses 'ghost', which nothing defines"),
    "two definitions": (nodes(A, replace(A, id="c"), B), r"value 'r' is defined by node a .* again by node c"),
    "same id": (nodes(A, replace(B, id="a")), "two nodes have the id 'a'"),
    "wrong type": (
        edit(types={**F.types, "r": TensorType("float32", (4, 9))}),
        r"node a .* recorded as float32\[4, 9\], its operator gives float32\[4, 8\]",
    ),
    "unknown dtype": (edit(types={**F.types, "r": TensorType("float12", (4, 8))}), "unknown dtype 'float12'"),
    "untyped value": (edit(types={k: t for k, t in F.types.items() if k != "r"}), "value 'r' of node a .* has no type"),
    "output of an input": (edit(outputs=(Output("y", "x"),)), "output 'y' is the inputs themselves"),
    "output twice": (edit(outputs=(Output("y", "sum"), Output("z", "sum"))), "value 'sum' is output twice"),
    "two output names": (edit(outputs=(Output("y", "sum"), Output("y", "r"))), "two outputs are named 'y'"),
    "missing output": (edit(outputs=(Output("y", "ghost"),)), "output 'y' is 'ghost', which nothing defines"),
    "missing constant": (lambda g: replace(g, constants=()), "constant 'w' does not exist"),
    "constant of another type": (
        lambda g: replace(g, constants=(Constant("w", TensorType("float32", (8,))),)),
        r"constant 'w' has type float32\[4, 8\] here",
    ),
    "constant without source": (lambda g: replace(g, sources=()), "neither a source nor made by the constant program"),
    "missing state": (lambda g: replace(g, states=()), "reads state 'memory', which does not exist"),
    "state written twice": (edit(writes=(StateWrite("memory", "sum"), StateWrite("memory", "r"))), "state 'memory' is written twice"),
    "state of another dtype": (lambda g: replace(g, states=(State("memory", TensorType("int32", (4, 8))),)), "state 'memory' holds int32"),
    "extent that is no scalar": (edit(extents={"n": "r"}), "extent 'n' must be held by an int64 scalar"),
    "two functions of one name": (lambda g: replace(g, functions=g.functions * 2), "two functions are named 'main'"),
    "two dims of one name": (
        edit(types={**F.types, "x": TensorType("float32", (dml.Dim("n", 1, 4), 8)), "w": TensorType("float32", (dml.Dim("n", 1, 5), 8))}),
        "two different dims are named 'n'",
    ),
    "operator's own refusal": (nodes(replace(A, op="add", inputs=("x", "w9")), B), "'w9', which nothing defines"),
}


def test_a_valid_graph_passes() -> None:
    verify(good(), infer)


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_is_named(what: str) -> None:
    change, message = BROKEN[what]
    with pytest.raises(VerifyError, match=message):
        verify(change(good()), infer)


def test_all_problems_are_reported_at_once() -> None:
    broken = nodes(B, replace(A, inputs=("ghost",)))(good())
    with pytest.raises(VerifyError) as error:
        verify(broken, infer)
    assert "ghost" in str(error.value) and "only later" in str(error.value)
