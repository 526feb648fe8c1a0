"""Each example's two references, one with NumPy in float64 and one with PyTorch, agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dinoml.cli import model_file
from dinoml.compare import EPS, compare

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(f.stem for f in FOLDER.glob("*.py") if "def build_spec" in f.read_text())
# PyTorch calculates in the model's dtype throughout, the other side in float64: roundings add up over this many operators.
DEPTH = {"minilm": 60, "image_pooling": 8}


@pytest.mark.parametrize("name", NAMES)
def test_references_agree(name: str) -> None:
    model = model_file.load(FOLDER / f"{name}.py")
    inputs = model.require("build_validation_inputs", "makes the inputs")()
    exact = model.require("numpy_reference", "computes in float64")(inputs)
    theirs = model.require("torch_reference", "computes with PyTorch")(inputs)
    assert list(exact) == list(theirs)
    for key, want in exact.items():
        got = np.asarray(theirs[key])
        print(key,got.dtype,want.dtype, compare(got,np.asarray(want),reduction_length=0))
