"""The one comparator: rounding-sized errors pass, everything else fails with the place and the numbers.

ratio = |got - want| / (eps(dtype) * (|want| + rms(want))), want in float64, rms over the finite entries of the same row (the
last axis). NaN and infinities must match in place and sign. An error of at most the smallest number that the dtype holds is none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dinoml.ir import dtypes

Array = np.ndarray[Any, Any]
EPS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}


def limit(dtype: str, reduction_length: int = 0) -> float:
    """Return the largest ratio that passes: 1 for half precision, 2 + 0.5 * sqrt(R) for float32, 0 (exact) for the rest."""
    if dtype == "float32":
        return 2.0 + 0.5 * math.sqrt(max(reduction_length, 0))
    return 1.0 if dtype in EPS else 0.0


@dataclass(frozen=True)
class Comparison:
    """The outcome: the worst ratio, where it is, and a text that says what was wrong (empty when all is well)."""

    worst: float
    limit: float
    index: tuple[int, ...] = ()
    message: str = ""

    @property
    def ok(self) -> bool:
        return not self.message

    def __bool__(self) -> bool:
        return self.ok


def ratios(got: Array, want: Array, dtype: str, samples: bool = False) -> Array:
    """Return the ratio of every element; inf where NaN or infinities do not match. `samples`: a row is a whole entry of the first axis."""
    got64 = np.asarray(got).astype(np.float64)
    with np.errstate(over="ignore"):
        stored = np.asarray(want, np.float64).astype(dtypes.numpy_dtype(dtype)).astype(np.float64)
    want64 = np.where(np.isinf(stored), stored, np.asarray(want, np.float64))  # what overflows in storage is an infinity
    finite = np.isfinite(want64)
    value = np.where(finite, want64, 0.0)
    out = np.full(want64.shape, np.inf)
    with np.errstate(all="ignore"):
        rows = (len(value), -1) if samples and value.ndim > 1 and value.size else value.shape
        scale = np.abs(value) + np.broadcast_to(_row_rms(value.reshape(rows), finite.reshape(rows)), value.reshape(rows).shape).reshape(value.shape)
        error = np.abs(got64 - value)
        both = finite & np.isfinite(got64)
        out[both] = np.where(error <= TINY[dtype], 0.0, error / (EPS[dtype] * scale))[both]
        out[~finite] = np.where((got64 == want64) | (np.isnan(got64) & np.isnan(want64)), 0.0, np.inf)[~finite]
    return np.asarray(out)


def _row_rms(value: Array, finite: Array) -> Array:
    if value.ndim == 0:
        return np.abs(value)
    count = np.maximum(finite.sum(axis=-1, keepdims=True), 1)
    top = np.max(np.abs(value), axis=-1, keepdims=True, initial=0.0)  # scaled, so that squares do not overflow
    unit = value / np.where(top == 0, 1.0, top)
    return np.asarray(top * np.sqrt(np.sum(unit * unit, axis=-1, keepdims=True) / count))


def compare(
    got: Any, want: Any, *, dtype: str | None = None, reduction_length: int = 0, limit_override: float | None = None, exact: bool = False,
    samples: bool = False,
) -> Comparison:  # fmt: skip
    """Return how `got` compares with `want`; `dtype` is the storage dtype of got where the array does not say it.

    Integers, bools and `exact` results (copies) must be equal element by element, NaN equal to NaN. `samples` takes the whole entry of
    the first axis as the row: results of a model have short rows in which everything may have cancelled.
    """
    a, w = np.asarray(got), np.asarray(want)
    name = dtypes.dtype(dtype if dtype is not None else a.dtype)
    if a.shape != w.shape:
        return Comparison(math.inf, 0.0, (), f"shape {list(a.shape)} instead of {list(w.shape)}")
    if exact or name not in EPS:
        return _exact(a, w, name)
    bound = limit(name, reduction_length) if limit_override is None else limit_override
    if a.size == 0:
        return Comparison(0.0, bound)
    r = ratios(a, w, name, samples)
    at = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.where(np.isnan(r), np.inf, r))), r.shape))
    worst = float(r[at])
    if np.all(r <= bound):  # a NaN ratio fails
        return Comparison(worst, bound, at)
    bad = int(np.sum(~(r <= bound)))
    text = f"{bad} of {r.size} elements differ; the worst at {list(at)}: got {a[at]}, want {w[at]}, ratio {worst:.3g} above {bound:.3g} ({name})"
    return Comparison(worst, bound, at, text)


def _exact(a: Array, w: Array, name: str) -> Comparison:
    if name in EPS:
        left, right = a.astype(np.float64), w.astype(dtypes.numpy_dtype(name)).astype(np.float64)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
    else:
        same = a == w
    if np.all(same):
        return Comparison(0.0, 0.0)
    at = tuple(int(i) for i in np.argwhere(~np.asarray(same))[0])
    count = int(np.sum(~same))
    return Comparison(math.inf, 0.0, at, f"{count} of {a.size} elements differ; the first at {list(at)}: got {a[at]}, want {w[at]} (exact, {name})")
