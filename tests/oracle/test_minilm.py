"""all-MiniLM-L6-v2 compiled for the CPU: as close to a float64 run as PyTorch's float32 is, and bfloat16 next to it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import dinoml
from dinoml import runtime

Array = np.ndarray[Any, Any]
FILE = Path(__file__).parents[2] / "examples" / "minilm.py"
# (batch, seq, draws). A shape with few sentences is drawn several times: the worst of three says more about the draw than about the code.
SHAPES = ((1, 1, 32), (3, 17, 32), (8, 128, 3), (32, 256, 1))
FACTOR = 1.5


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("oracle_minilm", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


minilm = _module()


@dataclass(frozen=True)
class Answers:
    """Token batches of one shape, and what PyTorch makes of them in float32 and float64: one row for each sentence."""

    inputs: list[dict[str, Array]]
    single: Array
    double: Array


def _tokens(batch: int, seq: int, draw: int) -> dict[str, Array]:
    """Return random tokens, the first sentence full, the others of any length with padding behind."""
    rng = np.random.default_rng([batch, seq, draw])
    lengths = rng.integers(1, seq + 1, batch)
    lengths[0] = seq
    mask = (np.arange(seq) < lengths[:, None]).astype(np.int64)
    return {"input_ids": rng.integers(1000, 30000, (batch, seq)) * mask, "attention_mask": mask}


def _pytorch(inputs: dict[str, Array], dtype: str) -> Array:
    """Return the example's PyTorch answer; it calculates in the dtype of the weights."""
    stored = minilm.weights
    wide = {k: v.astype(dtype) for k, v in stored().items()}
    minilm.weights = lambda: wide
    try:
        out = np.asarray(minilm.torch_reference(inputs)["embedding"])
    finally:
        minilm.weights = stored
    assert out.dtype == dtype
    return out


@cache
def answers(batch: int, seq: int, draws: int) -> Answers:
    inputs = [_tokens(batch, seq, d) for d in range(draws)]
    single, double = (np.concatenate([_pytorch(x, dtype) for x in inputs]) for dtype in ("float32", "float64"))
    return Answers(inputs, single, double)


@pytest.fixture(scope="session")
def embed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, dict[str, Array]], Array]]:
    """Embeddings from the example compiled with weights of a dtype, each dtype compiled once."""
    with ExitStack() as opened:

        @cache
        def session(dtype: str) -> runtime.Session:
            out = tmp_path_factory.mktemp("minilm") / f"{dtype}.dinoml"
            module = opened.enter_context(runtime.load(dinoml.compile(minilm.build_spec(dtype), "cpu", out).path))
            return opened.enter_context(module.create_session())

        yield lambda dtype, inputs: np.asarray(session(dtype).run_numpy(inputs)["embedding"])


def _errors(got: Array, exact: Array) -> Array:
    """Return the L2 error of every sentence.

    The worst single element would compare two extremes of rounding noise, which differ between equally good programs; the norm over
    384 elements averages the noise of a sentence, so its worst is a property of the program.
    """
    return np.linalg.norm(got.astype(np.float64) - exact, axis=-1)


def _cosines(a: Array, b: Array) -> Array:
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.sum(a * b, axis=-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_numpy_reference_is_pytorch_in_float64(shape: tuple[int, int, int]) -> None:
    given = answers(*shape)
    few = {k: v[:2] for k, v in given.inputs[0].items()}  # it is slow, and sentences do not depend on each other
    assert _errors(minilm.numpy_reference(few)["embedding"], given.double[: len(few["input_ids"])]).max() < 1e-13


@pytest.mark.parametrize("shape", SHAPES)
def test_float32(shape: tuple[int, int, int], embed: Callable[[str, dict[str, Array]], Array]) -> None:
    want = answers(*shape)
    got = np.concatenate([embed("float32", x) for x in want.inputs])
    assert got.dtype == np.float32
    assert _cosines(got, want.single).min() >= 0.99999
    ours, theirs = _errors(got, want.double), _errors(want.single, want.double)
    text = f"worst {ours.max():.3g} against {theirs.max():.3g}, mean {ours.mean():.3g} against {theirs.mean():.3g}"
    print(f"L2 error of a sentence at {shape}: {text}")
    assert ours.max() <= FACTOR * theirs.max(), text


@pytest.mark.parametrize("shape", SHAPES)
def test_bfloat16(shape: tuple[int, int, int], embed: Callable[[str, dict[str, Array]], Array]) -> None:
    want = answers(*shape)
    got = np.concatenate([embed("bfloat16", x) for x in want.inputs])
    assert _cosines(got, want.single).min() >= 0.999


def test_an_empty_sentence_is_a_row_of_zeros(embed: Callable[[str, dict[str, Array]], Array]) -> None:
    inputs = _tokens(3, 17, 0)
    inputs["attention_mask"][1] = 0
    want = _pytorch(inputs, "float32")
    assert not want[1].any()
    for dtype in ("float32", "bfloat16"):
        got = embed(dtype, inputs)
        assert not got[1].any()
        assert _cosines(got[[0, 2]], want[[0, 2]]).min() >= 0.999


def test_padding_does_not_matter(embed: Callable[[str, dict[str, Array]], Array]) -> None:
    short = _tokens(3, 17, 1)
    padded = {k: np.pad(v, [(0, 0), (0, 100)], constant_values=7 if k == "input_ids" else 0) for k, v in short.items()}
    want = _pytorch(short, "float64")
    assert _errors(embed("float32", padded), want).max() <= FACTOR * _errors(_pytorch(padded, "float32"), want).max()
