"""Operands for a measurement: random values that are valid for the kernel, the same ones wherever they are made."""

from __future__ import annotations

import numpy as np

from dinoml.compare import EPS, compare, limit
from dinoml.ir import dtypes
from dinoml.profile.job import Array, BufferSpec, PointJob

PERIOD = 1048573  # prime: the repetition of long buffers has no common period with their rows
BLOCK = 1 << 20  # elements compared at a time
MOST_COMPARED = 1 << 23


def make(spec: BufferSpec, seed: int) -> Array:
    """Return the contents of a buffer that is read; never zeros, which some CPUs move and multiply faster."""
    rng = np.random.default_rng(seed)
    count = spec.count
    some = min(count, PERIOD)
    values: Array
    if spec.below:
        values = rng.integers(0, max(1, spec.below), some)
    elif spec.dtype == "bool":
        values = rng.integers(0, 2, some)
    elif dtypes.DTYPES[spec.dtype].kind == "int":
        values = rng.integers(0, 4, some)
    else:
        values = rng.standard_normal(some, np.float32)
    values = values.astype(dtypes.numpy_dtype(spec.dtype))
    return (values if some == count else np.resize(values, count)).reshape(spec.shape)


def poison(spec: BufferSpec) -> Array:
    """Return what a buffer holds before it is written: finite values that no kernel would compute."""
    out = np.empty(spec.shape, dtypes.numpy_dtype(spec.dtype))
    out.reshape(-1).view(np.uint8)[:] = 1 if spec.dtype == "bool" else 0xC9
    return out


def contents(point: PointJob) -> list[Array]:
    """Return what all buffers of a point hold before the kernel runs."""
    return [make(b, 1 + i) if b.read else poison(b) for i, b in enumerate(point.buffers)]


def difference(got: Array, want: Array, point: PointJob, exact: bool) -> str:
    """Return what is wrong with a result, empty when nothing is.

    `want` comes from NumPy (`exact`) or from another candidate, whose own rounding errors are then allowed as well. This check
    keeps wrong kernels out of a plan; how exact right ones must be is decided by the operators' tests.
    """
    name = got.dtype.name
    if got.tobytes() == want.tobytes():
        return ""
    if name in EPS:
        coarse = max(limit(name, point.reduction), limit(point.coarsest, point.reduction) * EPS[point.coarsest] / EPS[name])
        allowed = coarse * (4 if exact else 8)
    else:
        allowed = 0.0
    rows = (1, got.size) if got.ndim == 0 else (-1, max(1, got.shape[-1]))
    got, want = got.reshape(rows), want.reshape(rows)
    step = max(1, BLOCK // max(1, got.shape[1]))
    starts = list(range(0, got.shape[0], step))
    if got.size > MOST_COMPARED:  # evenly spaced blocks, the first and the last among them
        picked = np.linspace(0, len(starts) - 1, max(2, MOST_COMPARED // BLOCK)).astype(int)
        starts = [starts[i] for i in dict.fromkeys(picked.tolist())]
    for start in starts:
        found = _difference(got[start : start + step], want[start : start + step], allowed, point)
        if found:
            return found
    return ""


def _difference(got: Array, want: Array, allowed: float, point: PointJob) -> str:
    name = got.dtype.name
    if name in EPS:
        result = compare(got, want.astype(np.float64), dtype=name, reduction_length=point.reduction, limit_override=allowed)
    else:
        result = compare(got, want, dtype=name)
    if not result.ok and point.stray:
        far = got.astype(np.float64) != want.astype(np.float64) if name not in EPS else _far(got, want, allowed)
        if float(np.mean(far)) <= point.stray:
            return ""
    return result.message


def _far(got: Array, want: Array, allowed: float) -> Array:
    from dinoml.compare import ratios

    return np.asarray(~(ratios(got, want.astype(np.float64), got.dtype.name) <= allowed))
