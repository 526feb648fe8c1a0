"""Graphs: the verifier names what is broken, JSON round-trips, digests are stable."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from support import graphs
from support.samples import library

from dinoml import Dim, Module, Parameter, TensorSpec, ops, state, trace
from dinoml.ir import serialize
from dinoml.ir.graph import Constant, Function, Graph, Node, Output, StateWrite, TensorType
from dinoml.ir.verify import VerifyError, verify
from dinoml.passes.manager import infer

N = Dim("n", min=0, max=8)


class _Model(Module):
    def __init__(self) -> None:
        self.weight = Parameter([4, 4])

    def forward(self, x):  # type: ignore[no-untyped-def]
        total = state("total", TensorSpec([4]))
        total.assign(total + ops.reduce_sum(x, dim=0))
        y = ops.relu(ops.gemm(x, self.weight))
        return {"y": y, "picked": ops.masked_select(y, y > 0.5)}


def _graph() -> Graph:
    return trace(_Model(), inputs={"x": TensorSpec([N, 4])}, name="model").graph


def _swap(g: Graph, **changes: object) -> Graph:
    return replace(g, functions=(replace(g.functions[0], **changes),))


def _function(g: Graph) -> Function:
    return g.functions[0]


def _node(g: Graph, op: str, /, **changes: object) -> Graph:
    f = _function(g)
    return _swap(g, nodes=tuple(replace(n, **changes) if n.op == op else n for n in f.nodes))


def _type(g: Graph, value: str, t: TensorType) -> Graph:
    return _swap(g, types={**_function(g).types, value: t})


BROKEN: dict[str, tuple[Callable[[Graph], Graph], str]] = {
    "two functions of one name": (lambda g: replace(g, functions=g.functions * 2), "two functions are named 'main'"),
    "two constants of one name": (lambda g: replace(g, constants=g.constants * 2), "two constants are named 'weight'"),
    "a constant that nothing makes": (lambda g: replace(g, constants=(*g.constants, Constant("ghost", TensorType("float32", ())))), "constant 'ghost' is neither a source"),
    "a value that nothing defines": (lambda g: _node(g, "relu", inputs=("ghost",)), "node relu_0 .* uses 'ghost', which nothing defines"),
    "a value before it is made": (lambda g: _swap(g, nodes=_function(g).nodes[::-1]), "which is made only later"),
    "a value made twice": (lambda g: _node(g, "relu", outputs=("gemm_0",)), "value 'gemm_0' is defined by node gemm_0 .* and again by node relu_0"),
    "two nodes of one id": (lambda g: _node(g, "relu", id="gemm_0"), "two nodes have the id 'gemm_0'"),
    "a value without a type": (lambda g: _swap(g, types={k: t for k, t in _function(g).types.items() if k != "relu_0"}), "value 'relu_0' of node relu_0 .* has no type"),
    "a wrong shape": (lambda g: _type(g, "relu_0", TensorType("float32", (N, 5))), "node relu_0 .*recorded as float32.n, 5., its operator gives float32.n, 4."),
    "a wrong dtype": (lambda g: _type(g, "relu_0", TensorType("float16", (N, 4))), "node relu_0 .*recorded as float16"),
    "an unknown dtype": (lambda g: _type(g, "relu_0", TensorType("float8", (N, 4))), "unknown dtype 'float8'"),
    "a negative extent": (lambda g: _type(g, "relu_0", TensorType("float32", (N - 1, 4))), "axis 0 of 'relu_0' is .*not a valid extent"),
    "an attribute that the operator refuses": (lambda g: _node(g, "gemm", attrs=(("a_layout", "x"), ("b_layout", "r"))), "node gemm_0 .*a_layout='x' is not one of"),
    "an operator that does not exist": (lambda g: _node(g, "relu", op="rleu"), "node relu_0 .*no operator 'rleu'"),
    "too many results": (lambda g: _two_results(g), "node relu_0 .* has 2 results, its operator gives 1"),
    "an output that nothing defines": (lambda g: _swap(g, outputs=(Output("y", "ghost"),)), "output 'y' is 'ghost', which nothing defines"),
    "an output twice": (lambda g: _swap(g, outputs=(Output("a", "relu_0"), Output("b", "relu_0"))), "value 'relu_0' is output twice"),
    "two outputs of one name": (lambda g: _swap(g, outputs=(Output("a", "relu_0"), Output("a", "gemm_0"))), "two outputs are named 'a'"),
    "an input as output": (lambda g: _swap(g, outputs=(Output("y", "x"),)), "output 'y' is the inputs themselves"),
    "a constant of another type": (lambda g: _type(g, "weight", TensorType("float32", (4, 3))), "constant 'weight' has type"),
    "a state that does not exist": (lambda g: _swap(g, states={"total.in": "ghost"}), "reads state 'ghost', which does not exist"),
    "a write to no state": (lambda g: _swap(g, writes=(StateWrite("ghost", "relu_0"),)), "writes state 'ghost', which does not exist"),
    "two writes": (lambda g: _swap(g, writes=_function(g).writes * 2), "state 'total' is written twice"),
    "an extent that is not a count": (lambda g: _swap(g, extents={d: "relu_0" for d in _function(g).extents}), "must be held by an int64 scalar"),
    "one dim with two meanings": (lambda g: _type(g, "relu_0", TensorType("float32", (Dim("n", min=0, max=9), 4))), "two different dims are named 'n'"),
}  # fmt: skip


def _two_results(g: Graph) -> Graph:
    g = _node(g, "relu", outputs=("relu_0", "relu_1"))
    return _type(g, "relu_1", _function(g).types["relu_0"])


def test_a_traced_graph_is_valid() -> None:
    verify(_graph(), infer)


@pytest.mark.parametrize("what", BROKEN)
def test_broken_graphs_are_refused(what: str) -> None:
    damage, message = BROKEN[what]
    with pytest.raises(VerifyError, match=message):
        verify(damage(_graph()), infer)


def test_all_problems_are_listed_at_once() -> None:
    g = _swap(_graph(), outputs=(Output("y", "ghost"), Output("y", "spirit")))
    with pytest.raises(VerifyError) as e:
        verify(g)
    assert "ghost" in str(e.value) and "spirit" in str(e.value) and "two outputs are named 'y'" in str(e.value)


def test_graphs_round_trip_through_json() -> None:
    g = _graph()
    again = serialize.from_json(json.loads(serialize.canonical(g)))
    assert again == g
    assert serialize.canonical(again) == serialize.canonical(g)


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_round_trip(seed: int) -> None:
    g = library([graphs.random_sample(seed)]).spec.graph
    again = serialize.from_json(json.loads(serialize.canonical(g)))
    assert serialize.digest(again) == serialize.digest(g)
    verify(again, infer)


def test_digests_are_stable_and_tell_models_apart() -> None:
    assert serialize.digest(_graph()) == serialize.digest(_graph())
    other = trace(lambda x: ops.relu(x * 2.0), inputs={"x": TensorSpec([N, 4])}, name="m").graph
    third = trace(lambda x: ops.relu(x * 3.0), inputs={"x": TensorSpec([N, 4])}, name="m").graph
    assert serialize.digest(other) != serialize.digest(third)


def test_special_numbers_survive_json() -> None:
    node = Node("full_0", "full", (), ("full_0",), (("dtype", "float32"), ("fill_value", float("-inf")), ("shape", (N, 2))))
    f = Function("main", (), (Output("y", "full_0"),), (node,), {"full_0": TensorType("float32", (N, 2))})
    again = serialize.from_json(json.loads(serialize.canonical(Graph("g", (f,)))))
    assert again.functions[0].nodes[0].attrs == node.attrs


def test_another_schema_is_refused() -> None:
    data = serialize.to_json(_graph())
    with pytest.raises(ValueError, match="graph schema 99 is not 1"):
        serialize.from_json({**data, "schema": 99})
