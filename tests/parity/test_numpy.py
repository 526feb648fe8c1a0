"""Every case of every operator, executed with NumPy from the kernels it is lowered to: index maps, fusion, constants."""

from __future__ import annotations

import pytest
from support import casework
from support.samples import library, report, run_numpy

from dinoml import operators


@pytest.mark.parametrize("name", operators.names())
def test_lowered_kernels_match_reference(name: str) -> None:
    samples = [casework.plain(c) for c in casework.matrix(operators.get(name))]
    assert samples, f"{name} has no cases"
    failures = run_numpy(library(samples, name))
    assert not failures, report(failures)


def test_every_kernel_operator_can_be_lowered() -> None:
    kernels = [op for op in map(operators.get, operators.names()) if op.kind == "kernel"]
    missing = [op.name for op in kernels if op.lowering is None and not op.spec.kernel]
    assert not missing, f"without lower.py and without a kernel in the spec: {', '.join(missing)}"
