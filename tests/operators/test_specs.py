from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

import dinoml
from dinoml import operators, ops, paths
from dinoml.operators import catalog, registry, spec, stubs

GOOD = """
name: f
kind: pointwise
summary: text
inputs: [{name: x, dtype: T}]
types: {T: floats}
outputs: [{name: y, dtype: T}]
expr: "exp(x)"
"""


def _parse(text: str, **changes: object) -> spec.OperatorSpec:
    return spec.parse({**yaml.safe_load(text), **changes}, Path("f/spec.yaml"))


def test_every_spec_is_complete() -> None:
    for name in operators.names():
        op = operators.get(name)
        assert op.spec.summary.endswith("."), name
        assert op.reference_module is not None
        if op.kind != "pointwise":
            assert hasattr(op.module, {"view": "define", "kernel": "infer", "composite": "expand"}[op.kind]), name
        for alias in op.spec.aliases:
            known = {a.name for a in op.spec.attrs}
            assert set(alias.attrs) <= known, (name, alias)
            assert set(alias.inputs or ()) <= {i.name for i in op.spec.inputs}, (name, alias)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"kind": "pointwize"}, "did you mean 'pointwise'"),
        ({"inptus": []}, "did you mean 'inputs'"),
        ({"types": {"T": "flaots"}}, "did you mean 'floats'"),
        ({"inputs": [{"name": "x", "dtype": "Q"}]}, "inputs.x.dtype"),
        ({"attrs": [{"name": "a", "type": "flot"}]}, "attrs[0] (a).type"),
        ({"attrs": [{"name": "x", "type": "float"}]}, "differ"),
        ({"signature": ["z"]}, "signature"),
        ({"kind": "view"}, "expr"),
    ],
)
def test_errors_name_file_key_and_alternatives(changes: dict[str, object], text: str) -> None:
    with pytest.raises(spec.SpecError, match=r"f/spec\.yaml") as e:
        _parse(GOOD, **changes)
    assert text in str(e.value)


def test_index_is_cached_and_follows_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DINOML_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "operators" / "family" / "f"
    folder.mkdir(parents=True)
    (folder / "spec.yaml").write_text(GOOD)
    root = tmp_path / "operators"
    assert catalog.build(root).entries["f"].summary == "text"
    loads: list[Path] = []
    original = spec.load
    monkeypatch.setattr(spec, "load", lambda p: loads.append(p) or original(p))
    catalog.build(root)
    assert loads == []
    (folder / "spec.yaml").write_text(GOOD.replace("summary: text", "summary: other words"))
    assert catalog.build(root).entries["f"].summary == "other words"
    assert len(loads) == 1


def test_index_works_without_a_writable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("DINOML_CACHE_DIR", str(blocked / "below"))
    assert "add" in catalog.build(paths.operators_root()).entries


def test_a_name_taken_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DINOML_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("f", "g"):
        folder = tmp_path / "operators" / "family" / name
        folder.mkdir(parents=True)
        (folder / "spec.yaml").write_text(GOOD.replace("name: f", f"name: {name}") + "\naliases: {h: {}}\n")
    with pytest.raises(spec.SpecError, match="'h' is taken by f and by g"):
        catalog.build(tmp_path / "operators")


def test_import_is_fast_and_reads_no_spec() -> None:
    code = "import time; t = time.perf_counter(); import dinoml, sys; print(time.perf_counter() - t, 'yaml' in sys.modules)"
    times = []
    for _ in range(3):
        seconds, has_yaml = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        assert has_yaml == "False"
        times.append(float(seconds))
    assert min(times) < 0.3


def test_stub_is_up_to_date() -> None:
    assert stubs.path().read_text() == stubs.render(), "run python -m dinoml.operators.stubs"


def test_well_known_names() -> None:
    names = set(registry.index().public)
    gemm = [n for n in names if n.startswith(("gemm_rcr", "gemm_rrr"))]
    assert len(gemm) == 40
    assert len([n for n in names if n.startswith("bmm_") and len(n.split("_")[1]) == 3 and n.split("_")[1] not in ("xxx",)]) == 16
    assert len([n for n in names if n.startswith("dual_gemm_rcr")]) == 20
    for name in (
        "conv2d_bias_relu",
        "bmm_xxx_add",
        "permute021",
        "gelu_new",
        "t5_layer_norm",
        "maximum",
        "swish",
        "runtime_index_select",
        "qkv_split",
    ):
        assert name in names


def test_functions_have_signatures_and_docs() -> None:
    import inspect

    f = ops.gemm_rcr_bias_add
    assert str(inspect.signature(f)).startswith("(a: 'TensorLike', b: 'TensorLike', bias: 'TensorLike', d0: 'TensorLike') -> 'Tensor'")
    assert f.__module__ == "dinoml.ops"
    assert "gemm_epilogue" in (f.__doc__ or "")
    assert "softmax" in dir(ops)
    assert "standardize" not in dir(ops)
    with pytest.raises(AttributeError, match="did you mean softmax"):
        ops.sofmax  # noqa: B018


def test_package_names_resolve() -> None:
    for name in dinoml.__all__:
        assert getattr(dinoml, name) is not None


def test_references_are_float64_for_floats() -> None:
    x = np.ones((2, 3))
    assert operators.get("softmax").reference([x], {"dim": 1})[0].dtype == np.float64
