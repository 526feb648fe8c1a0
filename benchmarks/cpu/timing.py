"""Interleaved timing: every contestant once per round, so that drift of the machine hits all alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


PAUSE_S = 0.02  # thread pools spin after their last call; the next contestant must not share the cores with that


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one contestant: median, and the median absolute deviation as a fraction of it."""

    median_ms: float
    spread: float
    best_ms: float
    rounds: int


def compare(contestants: Mapping[str, Callable[[int], object]], seconds: float = 6.0, least: int = 7, warmup: int = 3) -> dict[str, Timing]:
    """Return timings; each callable gets the round's number, so that buffers can rotate. `seconds` bounds the whole comparison.

    Before each timed call the machine rests and the contestant runs once, so that it finds its own threads awake and nobody else's.
    """
    for f in contestants.values():
        for i in range(warmup):
            f(i)
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    gc.disable()
    try:
        start, i = time.perf_counter(), 0
        while i < least or time.perf_counter() - start < seconds:
            for name, f in contestants.items():
                time.sleep(PAUSE_S)
                f(i + 1)  # other buffers than those that are timed
                t = time.perf_counter()
                f(i)
                samples[name].append(1e3 * (time.perf_counter() - t))
            i += 1
    finally:
        gc.enable()
    return {name: _timing(s) for name, s in samples.items()}


def _timing(samples: list[float]) -> Timing:
    middle = statistics.median(samples)
    return Timing(middle, statistics.median(abs(s - middle) for s in samples) / middle, min(samples), len(samples))
