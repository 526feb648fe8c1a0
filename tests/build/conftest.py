from pathlib import Path

import pytest

from dinoml.build import ObjectCache, Toolchain, find_toolchain


@pytest.fixture
def toolchain() -> Toolchain:
    return find_toolchain()


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "objects")
