"""Each example's two references agree: NumPy's, which calculates in float64, and PyTorch's, which calculates in the model's dtype."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dinoml.cli import model_file
from dinoml.compare import EPS, compare

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(f.stem for f in FOLDER.glob("*.py") if "def build_spec" in f.read_text())
# Of the L2 norm of each entry of the first axis (a sentence, an image), in units of the dtype's eps: MiniLM, the deepest, needs 7.
ROUNDINGS = 16


def _difference(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> float:
    """Return the L2 distance of the entries relative to their norm: the worst."""
    entries = (max(want.shape[0], 1), -1)
    distance = np.linalg.norm((got.astype(np.float64) - want).reshape(entries), axis=-1)
    norm = np.linalg.norm(want.reshape(entries), axis=-1)
    return float(np.max(distance / np.where(norm == 0, 1, norm), initial=0))


@pytest.mark.parametrize("name", NAMES)
def test_references_agree(name: str) -> None:
    model = model_file.load(FOLDER / f"{name}.py")
    inputs = model.require("build_validation_inputs", "makes the inputs")()
    exact = model.require("numpy_reference", "computes in float64")(inputs)
    theirs = model.require("torch_reference", "computes with PyTorch")(inputs)
    assert list(exact) == list(theirs)
    for key, want in exact.items():
        got = np.asarray(theirs[key])
        if got.dtype.name in EPS:
            assert got.shape == want.shape
            assert _difference(got, np.asarray(want, np.float64)) <= ROUNDINGS * EPS[got.dtype.name], key
        else:
            assert compare(got, np.asarray(want)), key
