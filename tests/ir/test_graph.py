"""Graphs of random models round-trip through JSON; further ways in which a traced graph can be broken are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from support import graphs
from support.samples import library

from dinoml import Dim, Module, Parameter, TensorSpec, ops, state, trace
from dinoml.ir import serialize
from dinoml.ir.graph import Function, Graph, Node, Output, StateWrite, TensorType
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


def _node(g: Graph, op: str, /, **changes: object) -> Graph:
    return _swap(g, nodes=tuple(replace(n, **changes) if n.op == op else n for n in g.functions[0].nodes))


def _type(g: Graph, value: str, t: TensorType) -> Graph:
    return _swap(g, types={**g.functions[0].types, value: t})


def _two_results(g: Graph) -> Graph:
    g = _node(g, "relu", outputs=("relu_0", "relu_1"))
    return _type(g, "relu_1", g.functions[0].types["relu_0"])


BROKEN: dict[str, tuple[Callable[[Graph], Graph], str]] = {
    "a negative extent": (lambda g: _type(g, "relu_0", TensorType("float32", (N - 1, 4))), "axis 0 of 'relu_0' is .*not a valid extent"),
    "a refused attribute": (lambda g: _node(g, "gemm", attrs=(("a_layout", "x"), ("b_layout", "r"))), "node gemm_0 .*a_layout='x' is not one of"),
    "no such operator": (lambda g: _node(g, "relu", op="rleu"), "node relu_0 .*no operator 'rleu'"),
    "too many results": (_two_results, "node relu_0 .* has 2 results, its operator gives 1"),
    "a write to no state": (lambda g: _swap(g, writes=(StateWrite("ghost", "relu_0"),)), "writes state 'ghost', which does not exist"),
    "an extent that is not a count": (lambda g: _swap(g, extents=dict.fromkeys(g.functions[0].extents, "relu_0")), "held by an int64 scalar"),
    "another symbolic shape": (lambda g: _type(g, "relu_0", TensorType("float32", (N * 2, 4))), r"recorded as float32\[2\*n, 4\]"),
}


def test_a_traced_graph_is_valid() -> None:
    verify(_graph(), infer)


@pytest.mark.parametrize("what", BROKEN)
def test_broken_graphs_are_refused(what: str) -> None:
    damage, message = BROKEN[what]
    with pytest.raises(VerifyError, match=message):
        verify(damage(_graph()), infer)


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_round_trip(seed: int) -> None:
    g = library([graphs.random_sample(seed)]).spec.graph
    again = serialize.from_json(json.loads(serialize.canonical(g)))
    assert serialize.digest(again) == serialize.digest(g)
    verify(again, infer)


def test_states_and_extents_round_trip() -> None:
    g = _graph()
    assert serialize.from_json(json.loads(serialize.canonical(g))) == g


def test_special_numbers_survive_json() -> None:
    node = Node("full_0", "full", (), ("full_0",), (("dtype", "float32"), ("fill_value", float("-inf")), ("shape", (N, 2))))
    f = Function("main", (), (Output("y", "full_0"),), (node,), {"full_0": TensorType("float32", (N, 2))})
    again = serialize.from_json(json.loads(serialize.canonical(Graph("g", (f,)))))
    assert again.functions[0].nodes[0].attrs == node.attrs
