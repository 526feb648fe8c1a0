"""validate: verdicts, tolerances, exit codes, and finding the kernel that is wrong."""

import math

import numpy as np
import pytest

from dinoml.cli import status
from dinoml.cli.verdict import Rules
from dinoml.operators import registry

CHAIN = """
import numpy as np
import dinoml as dml

class Chain(dml.Module):
    def forward(self, x):
        y = dml.ops.softmax(dml.ops.relu(x), dim=-1)
        return dml.ops.output(dml.ops.softmax(y * 2.0, dim=-1), "y")

def build_spec():
    return dml.trace(Chain(), inputs={"x": dml.TensorSpec([4, 16], "float32")}, name="chain")

def build_validation_inputs():
    return {"x": np.random.randn(4, 16).astype(np.float32)}
"""


def write(path, text):
    path.write_text(text)
    return path


def test_a_right_module_passes(dinoml, artifact, model):
    done = dinoml("validate", artifact, "--against", model, "--json")
    assert done.code == 0
    assert done.json["passed"]
    assert done.json["reference"] == "numpy_reference() of linear.py"
    assert done.json["outputs"]["y"]["ratio"] <= done.json["outputs"]["y"]["limit"]


def test_a_wrong_result_fails_and_says_where(dinoml, artifact, model, tmp_path):
    wrong = write(tmp_path / "wrong.py", model.read_text().replace('+ constants["bias"]}', '+ constants["bias"] + 1e-4}'))
    done = dinoml("validate", artifact, "--against", wrong, "--bisect")
    assert done.code == status.MISMATCH
    assert "WRONG" in done.out
    assert "every kernel computes what its operators' references make" in done.out
    loose = dinoml("validate", artifact, "--against", wrong, "--atol", "1e-3", "--json")
    assert (loose.code, loose.json["passed"]) == (0, True)
    assert dinoml("validate", artifact, "--against", wrong, "--atol", "1e-5", "--rtol", "0").code == status.MISMATCH


def test_without_a_reference_the_operators_references_decide(dinoml, artifact, model, tmp_path):
    bare = write(tmp_path / "bare.py", model.read_text().split("def numpy_reference")[0])
    done = dinoml("validate", artifact, "--against", bare, "--json")
    assert done.code == 0
    assert "float64" in done.json["reference"]


def test_bisect_names_the_first_wrong_kernel_and_its_line(dinoml, tmp_path, monkeypatch):
    path = write(tmp_path / "chain.py", CHAIN)
    assert dinoml("compile", path, "--out", tmp_path / "x.dinoml").code == 0
    assert dinoml("validate", tmp_path / "x.dinoml", "--against", path, "--bisect").code == 0

    class Wrong:
        """An operator whose reference disagrees from its second use on."""

        uses = 0

        def __init__(self, operator):
            self.operator = operator

        def __getattr__(self, name):
            return getattr(self.operator, name)

        def reference(self, inputs, attrs):
            Wrong.uses += 1
            results = self.operator.reference(inputs, attrs)
            return tuple(r + (Wrong.uses % 2 == 0) * 0.01 for r in results)

    original = registry.get
    monkeypatch.setattr(registry, "get", lambda name: Wrong(original(name)) if name == "softmax" else original(name))
    done = dinoml("validate", tmp_path / "x.dinoml", "--against", path, "--bisect", "--json")
    assert done.code == status.MISMATCH
    assert done.json["first_wrong"]["step"] == 1
    assert "chain.py:8" in done.json["first_wrong"]["source"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (('return {"y": inputs', 'return {"z": inputs'), "returned 'z'; the outputs are y"),
        (('return {"y": inputs["x"]', 'return (inputs["x"]'), "returned"),
        (('return {"x": np.random', 'return {"xx": np.random'), "no input 'xx'"),
        (("def build_validation_inputs", "def build_inputs"), "no function build_validation_inputs()"),
    ],
)
def test_what_does_not_fit_is_refused(dinoml, artifact, model, tmp_path, change, text):
    old, new = change
    source = model.read_text().replace(old, new)
    if new.startswith("return ("):
        source = source.replace('constants["bias"]}', 'constants["bias"])')
    done = dinoml("validate", artifact, "--against", write(tmp_path / "other.py", source))
    assert (done.code, text in done.err) == (status.REFUSED, True), done.err


def test_arguments_reach_inputs_and_reference(dinoml, artifact, model, tmp_path):
    source = model.read_text().replace("def build_validation_inputs():", "def build_validation_inputs(rows=3):").replace("(3, 8)", "(rows, 8)")
    path = write(tmp_path / "rows.py", source)
    done = dinoml("validate", artifact, "--against", path, "--against-kwarg", "rows=2", "--json")
    assert done.json["outputs"]["y"]["shape"] == [2, 6]
    assert "no argument 'row'" in dinoml("validate", artifact, "--against", path, "--against-kwarg", "row=2").err


@pytest.mark.parametrize("rules", [Rules(None, None, 64, 4), Rules(1e-4, 1e-4, 64, 4)], ids=["comparator", "tolerances"])
@pytest.mark.parametrize("wrong", ["zeros", "shift", "nan", "shape", "sign"])
def test_wrong_answers_fail(rules, wrong):
    want = np.random.default_rng(0).standard_normal((8, 64))
    assert rules.judge(want.astype(np.float32), want, "float32").ok
    got = {
        "zeros": np.zeros_like(want), "shift": np.roll(want, 1), "nan": np.where(want > 2, np.nan, want), "shape": want[:4], "sign": -want,
    }[wrong]  # fmt: skip
    verdict = rules.judge(got.astype(np.float32), want, "float32")
    assert not verdict.ok
    assert verdict.why
    assert math.isinf(verdict.ratio) or verdict.ratio > verdict.limit


def test_infinities_in_place_are_right():
    want = np.array([1.0, np.inf, -np.inf, np.nan])
    for rules in (Rules(None, None, 1, 1), Rules(1e-6, 0.0, 1, 1)):
        assert rules.judge(want.astype(np.float32), want, "float32").ok
        assert not rules.judge(-want.astype(np.float32), want, "float32").ok
