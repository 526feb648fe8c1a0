"""Random models: fused kernels, unfused kernels and the operators' references agree.

The seeds of a run are fixed; DINOML_FUZZ_START and DINOML_FUZZ_COUNT try others. A failure prints the line that repeats it.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support import differ, graphs
from support.samples import TARGET, THREADS, Library, executed, library, lower, report, run_guarded

from dinoml import compiler, runtime

START = int(os.environ.get("DINOML_FUZZ_START", "0"))
COUNT = int(os.environ.get("DINOML_FUZZ_COUNT", "2000"))
SHARDS = 8  # tests that several workers can share
NATIVE, PER_LIBRARY = 5, 40


def reproducer(seed: int) -> str:
    return f"DINOML_FUZZ_START={seed} DINOML_FUZZ_COUNT=1 python -m pytest tests/fusion/test_random.py -k kernels_match"


def check_numpy(seed: int, kind: graphs.Kind) -> list[str]:
    """Return what is wrong with the fused and the unfused kernels of a random model, executed in float64."""
    sample = graphs.random_sample(seed, kind)
    lib = library([sample])
    want = lib.wanted(0)
    lowered = lower(lib)
    out = []
    for fuse in (True, False):
        found = differ.exact(executed(lowered.function("f0", fuse), sample, lowered.stored, wide=True), want)
        out += [f"{'fused' if fuse else 'unfused'} {line}" for line in found]
    return out


def _attempt(seed: int) -> list[str]:
    try:
        found = check_numpy(seed, graphs.EVERYTHING)
    except Exception as e:
        found = [f"{type(e).__name__}: {e}"]
    return [f"seed {seed}: {line}\n    {reproducer(seed)}" for line in found]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_kernels_match_references(shard: int) -> None:
    failures = [line for seed in range(START + shard, START + COUNT, SHARDS) for line in _attempt(seed)]
    assert not failures, report(failures)


def _run(lib: Library, path: Path) -> list[dict[str, np.ndarray] | Exception]:
    out: list[dict[str, np.ndarray] | Exception] = []
    with runtime.load(path) as module:
        session = module.create_session(threads=THREADS, debug=True)
        for name, s in zip(lib.names, lib.samples):
            try:
                out.append(run_guarded(session, name, s.arrays))
            except Exception as e:
                out.append(e)
    return out


@pytest.mark.parametrize("part", range(NATIVE))
def test_compiled_models_match_references(part: int, tmp_path: Path) -> None:
    kind = "HALF" if part == NATIVE - 1 else "CONTINUOUS"
    seeds = range(100_000 + part * PER_LIBRARY, 100_000 + (part + 1) * PER_LIBRARY)
    lib = library([graphs.random_sample(seed, getattr(graphs, kind)) for seed in seeds], f"random{part}")
    artifact = compiler.compile(lib.spec, TARGET, tmp_path / "random.dinoml")
    lowered = lower(lib)
    failures: list[str] = []
    for i, (seed, got) in enumerate(zip(seeds, _run(lib, artifact.path))):
        if isinstance(got, Exception):
            found = [f"{type(got).__name__}: {got}"]
        else:
            plain = executed(lowered.function(lib.names[i]), lib.samples[i], lowered.stored)
            found = differ.beyond_noise(got, plain, lib.wanted(i), lib.types(i))
        failures += [f"seed {seed} ({kind}): {line}" for line in found]
    assert not failures, report(failures)


def test_fused_and_unfused_pointwise_models_are_equal_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lib = library([graphs.random_sample(seed, graphs.POINTWISE) for seed in range(200_000, 200_040)], "pointwise")
    fused = _run(lib, compiler.compile(lib.spec, TARGET, tmp_path / "fused.dinoml").path)
    plain_lower = compiler.lower
    monkeypatch.setattr(compiler, "lower", lambda *a, **k: plain_lower(*a, **{**k, "fuse": False}))
    unfused = _run(lib, compiler.compile(lib.spec, TARGET, tmp_path / "unfused.dinoml").path)
    failures = []
    for s, a, b in zip(lib.samples, fused, unfused):
        if isinstance(a, Exception) or isinstance(b, Exception):
            failures.append(f"{s.label}: {a!r:.200} and {b!r:.200}")
            continue
        failures += [
            f"{s.label} {name}: {int(np.sum(_bits(a[name]) != _bits(b[name])))} elements differ"
            for name in a
            if not np.array_equal(_bits(a[name]), _bits(b[name]))
        ]
    assert not failures, report(failures)


def _bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(np.uint8)
