from __future__ import annotations

import json

import numpy as np
import pytest

import dinoml as dml
from dinoml.ir.verify import verify
from dinoml.operators.evaluate import evaluate


class Linear(dml.Module):
    def __init__(self):
        self.weight = dml.Parameter([8, 6], dtype="float32")
        self.bias = dml.Parameter([6], dtype="float32")

    def forward(self, x):
        y = dml.ops.gemm_rrr_bias(x, self.weight, self.bias)
        return dml.ops.output(y, "y")


def _batch() -> dml.Dim:
    return dml.Dim("batch", min=1, max=4, typical=3, buckets=(1, 3, 4))


def _one(fn, *shapes, dtype="float32", **kwargs):
    return dml.trace(fn, inputs={f"x{i}": dml.TensorSpec(s, dtype) for i, s in enumerate(shapes)}, **kwargs)


def test_the_contract_as_written() -> None:
    rng = np.random.default_rng(0)
    constants = {"weight": rng.standard_normal((8, 6)), "bias": rng.standard_normal(6)}
    batch = dml.Dim("batch", min=1, max=4, typical=3, buckets=(1, 3, 4))
    spec = dml.trace(
        Linear(),
        inputs={"x": dml.TensorSpec([batch, 8], "float32")},
        constants=constants,
        name="linear",
    )
    verify(spec.graph)
    assert spec.name == "linear"
    assert set(spec.constants) == {"weight", "bias"}
    assert spec.constants["weight"].dtype == np.float32
    (fn,) = spec.graph.functions
    assert fn.constants == ("weight", "bias")
    assert [o.name for o in fn.outputs] == ["y"]
    assert fn.nodes[0].source.startswith("test_trace.py:")
    x = rng.standard_normal((3, 8))
    got = evaluate(spec.graph, {"x": x}, spec.constants)["y"]
    np.testing.assert_allclose(got, x @ constants["weight"] + constants["bias"], rtol=1e-5, atol=1e-5)


def test_constants_may_come_later_and_problems_come_together() -> None:
    spec = dml.trace(Linear(), inputs={"x": dml.TensorSpec([_batch(), 8])})
    assert spec.unbound == ["weight", "bias"]
    copy = spec.clone().bind_constants({"bias": np.zeros(6)})
    assert spec.unbound == ["weight", "bias"]
    assert copy.unbound == ["weight"]
    with pytest.raises(ValueError, match="did you mean 'weight'") as e:
        spec.bind_constants({"wieght": np.zeros((8, 6)), "bias": np.zeros(7)})
    assert "[6]" in str(e.value)
    with pytest.raises(ValueError, match="int64"):
        spec.bind_constants({"bias": np.zeros(6, np.int64)})


def test_names_follow_attribute_paths_and_shared_parameters_appear_once() -> None:
    class Inner(dml.Module):
        def __init__(self, shared):
            self.w = shared
            self.own = dml.Parameter([3])

        def forward(self, x):
            return x * self.w + self.own

    class Outer:  # any object with forward works
        def __init__(self):
            shared = dml.Parameter([3])
            self.blocks = [Inner(shared), Inner(shared)]
            self.heads = {"a": dml.Parameter([3]), "b": (dml.Parameter([3]),)}

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x + self.heads["a"] + self.heads["b"][0]

    spec = dml.trace(Outer(), inputs={"x": dml.TensorSpec([3])})
    assert [c.name for c in spec.graph.sources] == ["blocks.0.w", "blocks.0.own", "blocks.1.own", "heads.a", "heads.b.0"]
    spec.bind_constants({"blocks.1.w": np.ones(3)})  # a tied name binds the shared one
    assert "blocks.0.w" in spec.constants


def test_parameter_from_an_array_is_bound() -> None:
    class M(dml.Module):
        def __init__(self):
            self.w = dml.Parameter(np.arange(3.0))

        def forward(self, x):
            return x @ self.w

    spec = dml.trace(M(), inputs={"x": dml.TensorSpec([2, 3])})
    assert spec.unbound == []
    assert spec.graph.sources[0].type.dtype == "float32"


def test_outputs_have_their_own_buffers() -> None:
    def model(x0):
        y = x0 + 1
        return {"same": y, "again": y, "input": x0}

    spec = _one(model, [4])
    verify(spec.graph)
    (fn,) = spec.graph.functions
    assert len({o.value for o in fn.outputs}) == 3
    assert [n.op for n in fn.nodes].count("identity") == 2


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (lambda x0: x0 + 1, ["output_0"]),
        (lambda x0: (x0 + 1, x0 + 2), ["output_0", "output_1"]),
        (lambda x0: [x0 + 1, dml.ops.output(x0 + 2, "b")], ["output_0", "b"]),
        (lambda x0: {"a": x0 + 1, "b": [x0 + 2, x0 + 3]}, ["a", "b.0", "b.1"]),
    ],
)
def test_output_names(model, names) -> None:
    assert [o.name for o in _one(model, [4]).graph.functions[0].outputs] == names


def test_declared_outputs_count_even_when_not_returned() -> None:
    def model(x0):
        hidden = x0 * 2
        dml.ops.output(hidden, "hidden")
        y = hidden + 1
        dml.ops.output(y, "y")
        return y

    fn = _one(model, [4]).graph.functions[0]
    assert [o.name for o in fn.outputs] == ["y", "hidden"]
    assert len(fn.nodes) == 4  # two numbers, two operators, no copies


def test_rank_zero_and_zero_extents() -> None:
    n = dml.Dim("n", min=0, max=4)
    spec = _one(lambda x0, x1: x0 + x1.sum(), [], [n, 3])
    for rows in (0, 2):
        got = evaluate(spec.graph, {"x0": np.float32(2), "x1": np.ones((rows, 3))})["output_0"]
        np.testing.assert_array_equal(got, 2 + 3 * np.ones(0) if not rows else [5.0, 5.0])


def test_functions_share_constants_and_states() -> None:
    class Decoder(dml.Module):
        def __init__(self):
            self.table = dml.Parameter([10, 4])

        def prefill(self, ids):
            x = dml.ops.embedding(self.table, ids)
            memory = dml.state("memory", dml.TensorSpec([4]))
            memory.assign(x.sum(0))
            return {"sum": memory}

        def decode(self, token):
            memory = dml.state("memory", dml.TensorSpec([4]))
            before = memory + 0
            memory.assign(memory + dml.ops.embedding(self.table, token))
            return {"before": before, "after": memory * 1}

    n = dml.Dim("n", min=1, max=8)
    table = np.random.default_rng(0).standard_normal((10, 4)).astype(np.float32)
    spec = dml.trace(
        Decoder(),
        functions={"prefill": {"ids": dml.TensorSpec([n], "int64")}, "decode": {"token": dml.TensorSpec([], "int64")}},
        constants={"table": table},
    )
    verify(spec.graph)
    assert [f.name for f in spec.graph.functions] == ["prefill", "decode"]
    assert [s.name for s in spec.graph.states] == ["memory"]
    states: dict[str, np.ndarray] = {}
    ids = np.array([1, 2, 3])
    first = evaluate(spec.graph, {"ids": ids}, spec.constants, function="prefill", states=states)
    np.testing.assert_allclose(first["sum"], table[ids].sum(0), rtol=1e-6)
    for token in (4, 5):
        held = states["memory"].astype(np.float64)
        out = evaluate(spec.graph, {"token": np.array(token)}, spec.constants, function="decode", states=states)
        np.testing.assert_allclose(out["before"], held, rtol=1e-6)
        np.testing.assert_allclose(out["after"], held + table[token], rtol=1e-6)
        np.testing.assert_allclose(states["memory"], out["after"], rtol=1e-6)


def test_a_state_keeps_its_type() -> None:
    def model(x0):
        s = dml.state("s", dml.TensorSpec([4]))
        s.assign(x0)
        return s

    with pytest.raises(dml.OperatorError, match=r"state 's' is float32\[4\]"):
        _one(model, [5])

    def twice(x0):
        dml.state("s", dml.TensorSpec([4]))
        dml.state("s", dml.TensorSpec([5]))
        return x0

    with pytest.raises(dml.OperatorError, match="already declared"):
        _one(twice, [5])


def test_a_state_may_be_written_with_an_input() -> None:
    def model(x0):
        s = dml.state("s", dml.TensorSpec([4]))
        old = s * 1
        s.assign(x0)
        return {"old": old, "now": s}

    spec = _one(model, [4])
    verify(spec.graph)
    fn = spec.graph.functions[0]
    assert fn.writes[0].value not in fn.inputs
    states = {"s": np.arange(4)}
    out = evaluate(spec.graph, {"x0": np.ones(4)}, states=states)
    np.testing.assert_array_equal(out["old"], np.arange(4))
    np.testing.assert_array_equal(states["s"], np.ones(4))


def test_data_dependent_extents() -> None:
    n = dml.Dim("n", min=0, max=6)

    def model(x0):
        kept = dml.ops.masked_select(x0, x0 > 0)
        return {"kept": kept, "doubled": kept * 2}

    spec = _one(model, [n, 3])
    verify(spec.graph)
    fn = spec.graph.functions[0]
    ((dim, value),) = fn.extents.items()
    assert fn.types[value].dtype == "int64"
    extent = fn.types[fn.outputs[0].value].shape[0]
    assert extent.name == dim
    assert (extent.min, extent.max) == (0, 18)
    x = np.array([[1, -1, 2], [0, 3, -4]])
    out = evaluate(spec.graph, {"x0": x})
    np.testing.assert_array_equal(out["doubled"], [2, 4, 6])


def test_json_is_canonical() -> None:
    def build() -> str:
        return dml.trace(Linear(), inputs={"x": dml.TensorSpec([_batch(), 8])}, name="linear").canonical_json()

    assert build() == build()
    assert json.loads(build())["name"] == "linear"


def test_source_lines_point_to_the_model(tmp_path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "block.py").write_text("def block(x):\n    return x + 1\n")
    (tmp_path / "model.py").write_text(
        "import dinoml as dml\nfrom dinoml import nn\nfrom parts.block import block\n\n"
        "class M(dml.Module):\n    def __init__(self):\n        self.head = nn.Linear(3, 2)\n\n"
        "    def forward(self, x):\n        x = block(x)\n        return self.head(x)\n"
    )
    import importlib
    import sys

    sys.path.insert(0, str(tmp_path))
    try:
        module = importlib.import_module("model")
        fn = dml.trace(module.M(), inputs={"x": dml.TensorSpec([4, 3])}).graph.functions[0]
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("model", None)
        sys.modules.pop("parts.block", None)
    by_op = {n.op: n.source for n in fn.nodes}
    assert by_op["add"] == "parts/block.py:2"
    assert by_op["linear"] == "model.py:11"


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (lambda x0: 3, "returned int"),
        (lambda x0: None, "returned nothing"),
        (lambda x0: {"a": x0 + 1, "b": dml.ops.output(x0, "a")}, "two outputs are named 'a'"),
        (lambda x0: x0 if x0.sum() else -x0, "while the model is traced"),
        (lambda x0: dml.trace(lambda y: y, inputs={"y": dml.TensorSpec([1])}), "inside a trace"),
    ],
)
def test_refusals(model, text) -> None:
    with pytest.raises((dml.OperatorError, TypeError), match=text):
        _one(model, [4])


def test_operators_need_a_trace() -> None:
    with pytest.raises(dml.OperatorError, match="trace the model"):
        dml.ops.zeros([3])
    leaked = []
    _one(lambda x0: leaked.append(x0) or x0 + 1, [4])
    with pytest.raises(dml.OperatorError, match="another trace"):
        _one(lambda x0: x0 + leaked[0], [4])
    with pytest.raises(TypeError, match="only inside a model's forward"):
        dml.Parameter([3]) + 1


def test_one_name_cannot_be_two_dims() -> None:
    a, b = dml.Dim("n", max=4), dml.Dim("n", max=5)
    with pytest.raises(ValueError, match="two different dims"):
        _one(lambda x0, x1: (x0 + 1, x1 + 1), [a], [b])


def test_inputs_and_constants_may_not_share_names() -> None:
    with pytest.raises(dml.OperatorError, match="weight"):
        dml.trace(Linear(), inputs={"weight": dml.TensorSpec([1, 8])})
