"""An artifact of format version 1, made once and kept, still loads and gives the same results.

It is examples/cuda_linear.py compiled for x86-64-v2, without src/ and report/. Never make it anew: what it proves is that later
versions read it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from dinoml import runtime
from dinoml.artifact.reader import Artifact

KEPT = Path(__file__).parent / "compat" / "linear_v1"
EXAMPLE = Path(__file__).parents[2] / "examples" / "cuda_linear.py"


def test_version_1_loads_and_runs() -> None:
    artifact = Artifact(KEPT)
    assert (artifact.manifest.format_version, artifact.manifest.abi_version) == (1, 1)
    artifact.verify(full=True)
    stored = artifact.stored_constants()
    bias = stored["bias"]
    x = np.zeros((3, 8), np.float32)
    module = runtime.load(KEPT)
    np.testing.assert_array_equal(module.create_session().run_numpy({"x": x})["y"], np.broadcast_to(bias, (3, 6)))


def test_version_1_agrees_with_its_model() -> None:
    found = importlib.util.spec_from_file_location("compat_cuda_linear", EXAMPLE)
    assert found is not None and found.loader is not None
    example = importlib.util.module_from_spec(found)
    found.loader.exec_module(example)
    inputs = example.build_validation_inputs()
    got = runtime.load(KEPT).create_session().run_numpy(inputs)
    for name, want in example.numpy_reference(inputs).items():
        np.testing.assert_allclose(got[name], want, rtol=1e-5, atol=1e-5)
