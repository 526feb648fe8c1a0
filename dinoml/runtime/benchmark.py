"""Results of `Session.benchmark`: native wall times, per run and per kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class KernelTime:
    """What one step took; `share` is its part of the sum of all medians."""

    step: int
    kernel: str
    node: str
    source: str
    median_us: float
    min_us: float
    share: float


@dataclass(frozen=True)
class BenchmarkResult:
    """Wall time of each iteration in nanoseconds, and per step where it was asked for (timing each step adds a clock read to it)."""

    run_ns: np.ndarray[Any, np.dtype[np.int64]]
    kernels: tuple[KernelTime, ...] = ()

    @property
    def count(self) -> int:
        """The number of iterations."""
        return len(self.run_ns)

    @property
    def median_ms(self) -> float:
        """The median, which noise moves least."""
        return float(np.median(self.run_ns)) * 1e-6

    @property
    def mean_ms(self) -> float:
        """The mean."""
        return float(np.mean(self.run_ns)) * 1e-6

    @property
    def min_ms(self) -> float:
        """The fastest iteration."""
        return float(np.min(self.run_ns)) * 1e-6

    @property
    def max_ms(self) -> float:
        """The slowest iteration."""
        return float(np.max(self.run_ns)) * 1e-6

    @property
    def stddev_ms(self) -> float:
        """The standard deviation."""
        return float(np.std(self.run_ns)) * 1e-6

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        return {
            "count": self.count,
            "median_ms": self.median_ms,
            "mean_ms": self.mean_ms,
            "min_ms": self.min_ms,
            "max_ms": self.max_ms,
            "stddev_ms": self.stddev_ms,
            "kernels": [vars(k) for k in self.kernels],
        }


def kernel_times(step_ns: np.ndarray[Any, np.dtype[np.int64]], steps: tuple[Any, ...]) -> tuple[KernelTime, ...]:
    """Return one entry per step from a table of iterations × steps."""
    medians = np.median(step_ns, axis=0)
    total = float(medians.sum()) or 1.0
    fastest = step_ns.min(axis=0)
    return tuple(
        KernelTime(i, s.kernel, s.node, s.source, float(medians[i]) * 1e-3, float(fastest[i]) * 1e-3, float(medians[i]) / total)
        for i, s in enumerate(steps)
    )
