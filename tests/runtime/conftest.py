"""A complete artifact around fixture_module.cpp, built once per session; tests that change it take a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from dinoml import runtime
from dinoml.artifact import manifest as m
from dinoml.artifact.safetensors_file import write_safetensors
from dinoml.build import ObjectCache, compile_objects, find_toolchain, link_shared, module_source, runtime_sources

HERE = Path(__file__).parent
BATCH, EVEN = {"dim": "batch"}, {"dim": "even"}
HALF = {"op": "//", "args": [EVEN, 2]}
WEIGHT = np.arange(24, dtype=np.float32).reshape(3, 8) / 8
BIAS = np.array([1, 2, 3], dtype=np.float32)
A, B = np.array([1, 2], dtype=np.float32), np.array([3, 4], dtype=np.float32)


def _tensor(name: str, dtype: str, *shape: m.Axis, stored: bool = True) -> m.TensorEntry:
    return m.TensorEntry(name, dtype, shape, stored)


FUNCTIONS = (
    m.FunctionEntry("main", (_tensor("x", "float32", BATCH, 8),), (_tensor("y", "float32", BATCH, 3),)),
    m.FunctionEntry("count", (_tensor("amount", "int64", 1),), (_tensor("total", "int64", 1),)),
    m.FunctionEntry("pick", (_tensor("v", "float32", EVEN), _tensor("half", "float32", HALF)), (_tensor("found", "float32", {"extent": EVEN}),)),
    m.FunctionEntry("lookup", (_tensor("ids", "int64", BATCH),), (_tensor("values", "float32", BATCH),)),
    m.FunctionEntry("wait", (_tensor("ms", "int64", 1),), (_tensor("waited", "int64", 1),)),
    m.FunctionEntry("misbehave", (_tensor("how", "int64", 1),), (_tensor("result", "float32", 1),)),
    m.FunctionEntry("copy", (_tensor("h", "bfloat16", BATCH),), (_tensor("same", "bfloat16", BATCH),)),
    m.FunctionEntry("halve", (_tensor("x", "float32", 1),), (_tensor("y", "float32", 64),)),
    m.FunctionEntry("loops", (), (_tensor("visits", "int64", 1000),)),
)
MANIFEST = m.Manifest(
    name="fixture",
    target=m.TargetEntry("cpu", "x86-64-v2", ("sse3",)),
    module_digest="fixture-digest",
    functions=FUNCTIONS,
    dims=(m.DimEntry("batch", 1, 4), m.DimEntry("even", 2, 8, 2)),
    sources=(
        _tensor("weight", "float32", 3, 8, stored=False), _tensor("bias", "float32", 3),
        _tensor("a", "float32", 2, stored=False), _tensor("b", "float32", 2, stored=False),
    ),
    stored=(_tensor("weight_t", "float32", 8, 3), _tensor("bias", "float32", 3), _tensor("table", "float32", 4)),
    states=(_tensor("counter", "int64", 1),),
    created_by={"dinoml": "test"},
)  # fmt: skip


def link_module(text: str, out: Path) -> None:
    toolchain = find_toolchain()
    objects = compile_objects([module_source("module.cpp", text, toolchain), *runtime_sources(toolchain)], toolchain, cache=ObjectCache())
    link_shared(objects, out, toolchain)


@pytest.fixture(scope="session")
def fixture_source() -> str:
    """The text of the fixture's module.cpp."""
    return (HERE / "fixture_module.cpp").read_text()


@pytest.fixture(scope="session")
def link() -> Callable[[str, Path], None]:
    """Builds module.so from the text of a module.cpp."""
    return link_module


@pytest.fixture(scope="session")
def artifact(tmp_path_factory: pytest.TempPathFactory, fixture_source: str) -> Path:
    """The fixture artifact, not to be changed."""
    folder = tmp_path_factory.mktemp("artifact") / "fixture.dinoml"
    folder.mkdir()
    link_module(fixture_source, folder / "module.so")
    constants = [("weight_t", WEIGHT.T), ("bias", BIAS), ("table", 2 * np.concatenate([A, B]))]
    write_safetensors(folder / m.CONSTANTS, constants)
    for name in ("graph.json", "kernels.json", "plan.json"):
        (folder / name).write_text('{"schema": 1}\n')
    (folder / "report").mkdir()
    (folder / "report" / "notes.json").write_text("{}")
    m.seal(folder, MANIFEST)
    return folder


@pytest.fixture
def copied(artifact: Path, tmp_path: Path) -> Path:
    """A copy of the artifact that the test may damage."""
    return Path(shutil.copytree(artifact, tmp_path / "copy.dinoml"))


@pytest.fixture
def module(artifact: Path) -> Iterator[runtime.Module]:
    """The loaded artifact."""
    with runtime.load(artifact) as loaded:
        yield loaded


@pytest.fixture
def session(module: runtime.Module) -> runtime.Session:
    """A session with two threads."""
    return module.create_session(threads=2)


@pytest.fixture
def x() -> np.ndarray:
    """An input of main."""
    return np.arange(24, dtype=np.float32).reshape(3, 8)


@pytest.fixture
def y(x: np.ndarray) -> np.ndarray:
    """The output of main for `x`."""
    return x @ WEIGHT.T + BIAS
