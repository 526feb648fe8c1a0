"""How many kernels a real encoder takes: an upper bound that fusion must keep, whatever else changes."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import pytest
from support.samples import TARGET

import dinoml as dml
from dinoml import compiler

EXAMPLE = Path(__file__).parents[2] / "examples" / "minilm.py"
PER_LAYER, IN_ALL = 7, 48


@pytest.fixture(scope="module")
def minilm() -> ModuleType:
    found = importlib.util.spec_from_file_location("minilm_example", EXAMPLE)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _lowered(minilm: ModuleType, layers: int, dtype: str = "float32") -> compiler.Lowered:
    model = minilm.MiniLM(dtype)
    model.encoder.layer = [minilm.Layer(dtype) for _ in range(layers)]
    tokens = dml.TensorSpec([dml.Dim("batch", min=1, max=32), dml.Dim("seq", min=1, max=256)], "int64")
    spec = dml.trace(model, inputs={"input_ids": tokens, "attention_mask": tokens}, name="minilm")
    return compiler.lower(spec, TARGET)


def _steps(lowered: compiler.Lowered) -> list[str]:
    return [f"{s.kernel.template}: {', '.join(s.kernel.ops)} ({s.kernel.reasons})" for s in lowered.plans[0].steps]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_minilm_kernels(minilm: ModuleType, dtype: str) -> None:
    steps = _steps(_lowered(minilm, minilm.LAYERS, dtype))
    assert len(steps) <= IN_ALL, "\n".join(steps)


def test_kernels_of_a_layer(minilm: ModuleType) -> None:
    per_layer = (len(_steps(_lowered(minilm, 3))) - len(_steps(_lowered(minilm, 1)))) / 2
    assert per_layer <= PER_LAYER


def test_ten_times_the_layers_are_the_same_objects_and_no_more_than_linear_work(minilm: ModuleType) -> None:
    start = time.process_time()
    few = _lowered(minilm, 6)
    middle = time.process_time()
    many = _lowered(minilm, 60)
    last = time.process_time()
    assert set(many.sources) == set(few.sources)
    assert last - middle < 30 * (middle - start)
