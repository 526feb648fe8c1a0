"""A cache folder of its own for the test session."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dinoml.targets import Target

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    patch = pytest.MonkeyPatch()
    patch.setenv("DINOML_CACHE_DIR", str(folder))
    yield folder
    patch.undo()


@pytest.fixture
def target() -> Target:
    return Target("cpu", threads=1)
