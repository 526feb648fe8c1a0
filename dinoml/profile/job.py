"""What travels between `dinoml profile` and the processes that measure: plain numbers, paths and arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ENOUGH = 5  # samples from which a median is taken
Array = np.ndarray[Any, Any]
Progress = Callable[[str, int, int], None]  # what is being done, done, total


@dataclass(frozen=True)
class BufferSpec:
    """One buffer of a kernel. `below`: integers in it are run-time indices under this extent (0: they are not)."""

    dtype: str
    shape: tuple[int, ...]
    read: bool
    written: bool
    constant: bool = False
    below: int = 0

    @property
    def count(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class CandidateRun:
    """One candidate at one point: its entry point and its run-time integers."""

    name: str
    symbol: str
    ints: tuple[int, ...]


@dataclass(frozen=True)
class PointJob:
    """One problem at one set of extents. `operands[i]` is the buffer behind the kernel's i-th pointer.

    `plain` names the candidate that others are compared with; `expected` holds the results of NumPy per buffer (None for the
    others), where they were cheap to have. `coarsest` is the dtype of the coarsest rounding on the way; `stray` is the share of
    elements that may differ by more, because the kernel compares or rounds what it summed.
    """

    buffers: tuple[BufferSpec, ...]
    operands: tuple[int, ...]
    candidates: tuple[CandidateRun, ...]
    plain: str
    reduction: int = 1
    coarsest: str = "float32"
    stray: float = 0.0
    expected: tuple[Array | None, ...] | None = None
    index: int = 0


@dataclass(frozen=True)
class Settings:
    """How to measure. `samples` timed samples of at least `sample_ns` per candidate, fewer when they take longer than `budget_ns`."""

    workers: int
    samples: int
    least_samples: int
    sample_ns: int = 200_000
    budget_ns: int = 300_000_000
    rotate_bytes: int = 128 << 20  # operands that a model would find in memory, not in a cache
    near_bytes: int = 1 << 20  # activations of a kernel up to this size are found in a cache
    timeout_s: float = 60.0


@dataclass(frozen=True)
class Job:
    """All points of one problem. `bench` and `library` are shared libraries: the driver and the candidates."""

    bench: str
    library: str
    points: tuple[PointJob, ...]
    settings: Settings


@dataclass(frozen=True)
class Timing:
    """Nanoseconds of one run: median of the samples, spread (scaled median absolute deviation), 95 % half-width of the median."""

    candidate: str
    median_ns: float
    spread_ns: float
    error_ns: float
    samples: int
    runs: int  # of one sample
    best_ns: float = 0.0


@dataclass(frozen=True)
class PointResult:
    """Timings of the candidates that gave right results, and why the others are out."""

    index: int
    timings: tuple[Timing, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    copies: int = 0


@dataclass
class Samples:
    """Times of one candidate as they come in. Those during which the system took a CPU away count only where there are few others."""

    runs: int = 1
    ns: list[float] = field(default_factory=list)
    quiet_ns: list[float] = field(default_factory=list)
    spent_ns: int = 0

    def add(self, took_ns: int, quiet: bool) -> None:
        """Take in one sample."""
        self.spent_ns += took_ns
        self.ns.append(took_ns / self.runs)
        if quiet:
            self.quiet_ns.append(took_ns / self.runs)

    def timing(self, candidate: str) -> Timing:
        """Return the summary."""
        return summarise(candidate, self.quiet_ns if len(self.quiet_ns) >= ENOUGH else self.ns, self.runs)


def summarise(candidate: str, ns: Sequence[float], runs: int) -> Timing:
    """Return median, spread and the error of the median of some samples.

    The error comes from ranks, so it assumes nothing about how times are distributed: with five samples it is half their range.
    """
    values = np.sort(np.asarray(ns, np.float64))
    n = int(values.size)
    median = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - median)))
    reach = 0.98 * n**0.5
    low, high = max(0, math.floor((n - 1) / 2 - reach)), min(n - 1, math.ceil((n - 1) / 2 + reach))
    error = float(values[high] - values[low]) / 2
    return Timing(candidate, round(median, 2), round(spread, 2), round(error, 2), n, runs, round(float(values[0]), 2))
