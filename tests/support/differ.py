"""Differences between random models' answers and the references', judged by what rounding alone does to the same model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dinoml.compare import compare
from dinoml.ir import dtypes

Array = np.ndarray[Any, Any]
SLACK = 8.0  # how much more a compiled model may err than the same model with NumPy in its storage precision


def exact(got: Mapping[str, Array], want: Mapping[str, Array]) -> list[str]:
    """Return a line per output of a float64 execution that differs from the references by more than rounding to float32 does."""
    out = []
    for name, w in want.items():
        text = compare(np.asarray(got[name]), w, dtype="float32", limit_override=1e4 * 2.0**-29).message
        if text and not _same_noise(np.asarray(got[name], np.float64), w):
            out.append(f"{name}: {text}")
    return out


def _same_noise(got: Array, want: Array) -> bool:
    """Whether both are the residue of a cancellation: rows of numbers that are zero but for float64 rounding."""
    both = np.isfinite(got) & np.isfinite(want)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return got.shape == want.shape and bool(np.all(both | same)) and bool(np.all(np.abs(np.where(both, got - want, 0)) <= 1e-9))


def beyond_noise(got: Mapping[str, Array], plain: Mapping[str, Array], want: Mapping[str, Array], types: Mapping[str, str]) -> list[str]:
    """Return a line per output that errs more than SLACK times as much as `plain`, which was computed in the same precision."""
    out = []
    for name, w in want.items():
        g, p = np.asarray(got[name]).astype(np.float64), np.asarray(plain[name]).astype(np.float64)
        if g.shape != w.shape:
            out.append(f"{name}: shape {g.shape} instead of {w.shape}")
            continue
        finite = np.isfinite(w) & np.isfinite(p)
        if not np.array_equal(np.isnan(g), np.isnan(p)) or not np.array_equal(g[~finite], p[~finite], equal_nan=True):
            out.append(f"{name}: NaN or infinities differ")
            continue
        if not finite.any():
            continue
        eps = float(np.finfo(np.float32).eps) if types[name] == "float32" else 2.0 ** -(10 if types[name] == "float16" else 7)
        if dtypes.DTYPES[types[name]].kind != "float":
            eps = 0.0
        scale = np.abs(w[finite]).max()
        allowed = SLACK * (np.abs(p - w)[finite].max() + eps * scale)
        worst = np.abs(g - w)[finite].max()
        if worst > allowed:
            out.append(f"{name}: off by {worst:.3g}, NumPy in the same precision by {np.abs(p - w)[finite].max():.3g}")
    return out
