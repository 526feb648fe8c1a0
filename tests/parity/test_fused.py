"""Kernel operators with fused neighbours: chains, broadcasts, casts and views before them, epilogues and side outputs after."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import panel
from support.samples import library, report, run_native, run_numpy

from dinoml import operators

KERNELS = [n for n in operators.names() if operators.get(n).kind == "kernel" and not operators.get(n).spec.internal]


@pytest.mark.parametrize("name", KERNELS)
def test_neighbours_with_numpy(name: str) -> None:
    failures = run_numpy(library(panel.panel(operators.get(name), every=True), name))
    assert not failures, report(failures)


@pytest.mark.parametrize("name", KERNELS)
def test_neighbours_compiled(name: str, tmp_path: Path) -> None:
    failures = run_native(library(panel.panel(operators.get(name), every=False), name), tmp_path)
    assert not failures, report(failures)
