"""Other vector widths: kernels built for CPUs with less, run on this one. Masks, registers, tiles and packed panels differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import casework, graphs
from support.samples import Sample, library, report, run_native, run_numpy

from dinoml import operators
from dinoml.targets import Target

LEVELS = ("x86-64-v2", "x86-64-v3")
KERNELS = [n for n in operators.names() if operators.get(n).kind == "kernel" and not operators.get(n).spec.internal]
SPECIAL = [
    "sign",
    "round",
    "floor_div",
    "remainder",
    "isnan",
    "where",
    "cast",
    "logical_xor",
    "bitwise_not",
    "shift_right",
    "argmax",
    "exp",
    "erf",
    "sin",
]


def _samples() -> Iterator[Sample]:
    for name in KERNELS:
        chosen = casework.compiled(operators.get(name))
        yield from (casework.plain(c) for c in (chosen[0], chosen[-1]))
    for name in SPECIAL:
        yield from (casework.plain(c) for c in casework.compiled(operators.get(name))[-3:])


@pytest.mark.parametrize("arch", LEVELS)
def test_operators_compiled_for_less(arch: str, tmp_path: Path) -> None:
    failures = run_native(library(_samples(), "level"), tmp_path, Target("cpu", arch=arch))
    assert not failures, report(failures)


@pytest.mark.parametrize("arch", LEVELS)
def test_packed_panels_with_numpy(arch: str) -> None:
    failures = run_numpy(library([graphs.random_sample(seed) for seed in range(300_000, 300_030)], "level"), target=Target("cpu", arch=arch))
    assert not failures, report(failures)
