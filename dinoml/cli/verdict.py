"""When a result of a whole model counts as right."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dinoml import compare
from dinoml.ir import intexpr
from dinoml.ir.graph import Function


@dataclass(frozen=True)
class Verdict:
    """One comparison. `measure` is what was compared with what limit, `why` what is wrong."""

    ok: bool
    dtype: str
    shape: tuple[int, ...]
    max_abs: float
    ratio: float
    limit: float
    measure: str
    why: str

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "shape": list(self.shape)}


@dataclass(frozen=True)
class Rules:
    """The limit: absolute and relative tolerances where they are given, else the scale-free comparator.

    One kernel may be off by what `dinoml.compare` allows for its longest possible sum, that is the largest extent in the model;
    the errors of n kernels add up like a random walk, so by a factor of sqrt(n).
    """

    atol: float | None
    rtol: float | None
    longest_sum: int
    kernels: int

    @staticmethod
    def of(function: Function, dims: Mapping[str, int], kernels: int, atol: float | None, rtol: float | None) -> Rules:
        """Return the rules for a function that takes `kernels` kernels at some extents."""
        extents = [int(intexpr.evaluate(e, dims)) for t in function.types.values() for e in t.shape if not _unknown(e, dims)]
        return Rules(atol, rtol, max(extents, default=1), max(1, kernels))

    def judge(self, got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], dtype: str) -> Verdict:
        """Return how a result compares with a reference."""
        if got.shape != want.shape:
            return Verdict(False, dtype, got.shape, math.inf, math.inf, 0.0, "", f"shape {list(got.shape)} instead of {list(want.shape)}")
        wide = [np.asarray(x).astype(np.float64) for x in (got, want)]
        with np.errstate(invalid="ignore"):
            difference = np.abs(wide[0] - wide[1])
        worst = float(np.max(np.where(np.isnan(difference), np.inf, difference))) if difference.size else 0.0
        if self.atol is not None or self.rtol is not None:
            return self._by_tolerance(wide[0], wide[1], dtype, worst)
        bound = compare.limit(dtype, self.longest_sum) * math.sqrt(self.kernels)
        result = compare.compare(got, want, dtype=dtype, limit_override=bound, samples=True)
        measure = f"ratio {result.worst:.3g} of {result.limit:.3g}"
        return Verdict(result.ok, dtype, got.shape, 0.0 if result.worst == 0 else worst, result.worst, result.limit, measure, result.message)

    def _by_tolerance(self, got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], dtype: str, worst: float) -> Verdict:
        atol, rtol = self.atol or 0.0, self.rtol or 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            allowed = atol + rtol * np.abs(want)
            off = np.abs(got - want) / allowed
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        off = np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))
        ratio = float(np.max(off, initial=0.0))
        wrong = int(np.sum(off > 1.0))
        why = f"{wrong} of {off.size} elements differ by more than atol {atol:g} + rtol {rtol:g} * |want|" if wrong else ""
        return Verdict(not wrong, dtype, got.shape, worst, ratio, 1.0, f"{ratio:.3g} of atol + rtol", why)


def _unknown(extent: intexpr.IntLike, dims: Mapping[str, int]) -> bool:
    """Whether an extent is known only after the run."""
    return any(s.name not in dims for s in intexpr.symbols(extent))
