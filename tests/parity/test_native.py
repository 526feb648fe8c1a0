"""Every operator and dtype, compiled: all cases of an operator are functions of one library."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import casework
from support.samples import library, report, run_native

from dinoml import operators

# Internal operators stand for stored forms that depend on the target; test_constants.py of tests/passes reaches them.
NAMES = [n for n in operators.names() if not operators.get(n).spec.internal]


@pytest.mark.parametrize("name", NAMES)
def test_compiled_kernels_match_reference(name: str, tmp_path: Path) -> None:
    samples = [casework.plain(c) for c in casework.compiled(operators.get(name))]
    failures = run_native(library(samples, name), tmp_path)
    assert not failures, report(failures)
