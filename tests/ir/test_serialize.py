"""Graphs survive JSON, and equal graphs have equal text."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dinoml as dml
from dinoml import ops
from dinoml.compiler import lower
from dinoml.ir import serialize
from dinoml.targets import Target


class Model(dml.Module):
    """A bit of everything: dims, constants, several results, attributes of all kinds."""

    def __init__(self) -> None:
        self.w = dml.Parameter([6, 8])

    def forward(self, x: dml.Tensor) -> dict[str, dml.Tensor]:
        memory = dml.state("memory", dml.TensorSpec([8]))
        h = ops.linear(x, self.w) + 1.5
        values, indices = ops.topk(h, 2)
        memory.assign(memory + x.sum(0))
        big = ops.clamp(h, min=float("-inf"), max=2.0)
        return {"values": values, "indices": indices, "half": x[::2], "big": big, "some": ops.masked_select(h, h > 0)}


def spec() -> dml.ModelSpec:
    n = dml.Dim("n", min=2, max=8, buckets=(2, 8))
    return dml.trace(Model(), inputs={"x": dml.TensorSpec([n, 8])}, constants={"w": np.ones((6, 8), np.float32)}, name="model")


def test_round_trip_and_stable_text() -> None:
    for graph in (spec().graph, lower(spec(), Target("cpu")).graph):
        text = serialize.canonical(graph)
        again = serialize.from_json(json.loads(text))
        assert serialize.canonical(again) == text
        assert serialize.digest(again) == serialize.digest(graph)
        assert again.dims.keys() == graph.dims.keys()


def test_tracing_twice_gives_the_same_text() -> None:
    assert serialize.canonical(spec().graph) == serialize.canonical(spec().graph)


def test_another_model_has_another_digest() -> None:
    other = dml.trace(lambda x: ops.output(ops.relu(x), "y"), inputs={"x": dml.TensorSpec([3])}, name="model")
    assert serialize.digest(other.graph) != serialize.digest(spec().graph)


def test_another_schema_is_refused() -> None:
    data = json.loads(serialize.canonical(spec().graph))
    data["schema"] = 99
    with pytest.raises(ValueError, match="schema 99"):
        serialize.from_json(data)
