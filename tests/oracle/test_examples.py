"""Compiled examples against PyTorch: as close to a float64 run as PyTorch's own float32 is, up to a factor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dinoml import runtime
from dinoml.cli import model_file
from dinoml.compare import EPS, compare
from dinoml.compiler import compile

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(f.stem for f in FOLDER.glob("*.py") if "def torch_reference" in f.read_text())
# Of PyTorch's error, and half a unit in the last place: small models have hardly more.
FACTOR, ROOM = 1.5, 0.5


def error(got: np.ndarray, want: np.ndarray, dtype: str) -> float:
    """Return the norm of the difference relative to that of the result, in units of the dtype's epsilon."""
    wide, exact = np.asarray(got).astype(np.float64), np.asarray(want).astype(np.float64)
    return float(np.linalg.norm(wide - exact) / (np.linalg.norm(exact) or 1.0) / EPS[dtype])


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_as_exact_as_pytorch(name: str, tmp_path: Path) -> None:
    model = model_file.load(FOLDER / f"{name}.py")
    inputs = model.require("build_validation_inputs", "makes the inputs")()
    exact = model.require("numpy_reference", "computes in float64")(inputs)
    torch = model.require("torch_reference", "computes with PyTorch")(inputs)
    artifact = compile(model.require("build_spec", "is compiled")(), "cpu", tmp_path / "x.dinoml")
    with runtime.load(artifact.path) as module, module.create_session() as session:
        got = session.run_numpy(inputs)
    assert list(got) == list(exact)
    for key, array in got.items():
        dtype = array.dtype.name
        if dtype not in EPS:
            assert compare(array, np.asarray(exact[key]), dtype=dtype)
            continue
        ours, theirs = error(array, exact[key], dtype), error(torch[key], exact[key], dtype)
        assert ours <= FACTOR * theirs + ROOM, f"{key}: error {ours:.3g}, PyTorch's is {theirs:.3g}"
