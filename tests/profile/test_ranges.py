"""Ranges from winners: merging, borders, noise, trust."""

from __future__ import annotations

import pytest

from dinoml.profile.job import Timing, summarise
from dinoml.profile.ranges import Measured, Range, acceptable, ranges

WIDE = {2: (1, 4096)}


def point(m: int, error: float = 0.0, **us: float) -> Measured:
    return Measured((1, 1, m, 64, 64), {n: Timing(n, 1000 * t, 0.0, 1000 * error, 60, 1) for n, t in us.items()})


def test_the_listed_order_needs_no_ranges() -> None:
    points = [point(1, gemv=10, tile=50), point(8, gemv=20, tile=51), point(64, tile=60)]
    assert ranges(points, ["gemv", "tile"], [2], WIDE) == []


def test_equal_neighbours_become_one_range() -> None:
    points = [point(1, gemv=10, tile=50), point(8, gemv=20, tile=51), point(64, gemv=200, tile=60), point(4096, gemv=9000, tile=900)]
    assert ranges(points, ["gemv", "tile"], [2], WIDE) == [Range("tile", (2,), None, 23)]
    assert ranges(points, ["tile", "gemv"], [2], WIDE) == [Range("gemv", (2,), 22)]


def test_border_lies_between_the_points_on_a_logarithmic_scale() -> None:
    assert ranges([point(4, a=20, b=10), point(400, a=10, b=20)], ["a", "b"], [2], {2: (1, 400)}) == [Range("b", (2,), 40)]
    three = [point(1, a=9, b=5, c=7), point(16, a=9, b=8, c=5), point(256, a=5, b=9, c=8)]
    assert ranges(three, ["a", "b", "c"], [2], {2: (1, 256)}) == [Range("b", (2,), 4), Range("c", (2,), 64, 5)]


def test_within_the_noise_the_listed_order_stands() -> None:
    assert ranges([point(4, a=10.1, b=10.0)], ["a", "b"], [], {}) == []
    assert ranges([point(4, a=10.5, b=10.0)], ["a", "b"], [], {}) == [Range("b")]
    assert ranges([point(4, error=0.5, a=10.5, b=10.0)], ["a", "b"], [], {}) == []
    mixed = [point(4, a=10.1, b=10.2, c=10.0), point(64, b=10.1, c=10.0)]  # a where it applies, then b
    assert ranges(mixed, ["a", "b", "c"], [2], {2: (4, 64)}) == []


def test_differences_that_nobody_notices_do_not_count() -> None:
    assert set(acceptable(point(1, a=0.05, b=0.1).timings)) == {"a", "b"}


def test_noise_does_not_cut_a_range_in_two() -> None:
    points = [point(1, a=12, b=10), point(8, a=20, b=20), point(64, a=48, b=40), point(4096, a=900, b=700)]
    assert ranges(points, ["a", "b"], [2], WIDE) == [Range("b", (2,))]


def test_choices_are_not_trusted_far_beyond_the_points() -> None:
    assert ranges([point(64, a=20, b=10)], ["a", "b"], [2], WIDE) == [Range("b", (2,), 256, 16)]
    assert ranges([point(64, a=20, b=10)], ["a", "b"], [2], {2: (32, 128)}) == [Range("b", (2,))]


def test_the_integer_that_separates_best_is_chosen() -> None:
    def at(heads: int, m: int, **us: float) -> Measured:
        return Measured((heads, m), {n: Timing(n, 1000 * t, 0.0, 0.0, 60, 1) for n, t in us.items()})

    points = [at(h, m, a=10 if m < 50 else 30, b=20) for h in (1, 8) for m in (16, 256)]
    assert ranges(points, ["a", "b"], [0, 1], {0: (1, 8), 1: (16, 256)}) == [Range("b", (1,), None, 65)]
    work = [at(h, m, a=10 if h * m < 200 else 30, b=20) for h, m in ((1, 128), (8, 16), (2, 128), (16, 16))]
    assert ranges(work, ["a", "b"], [0, 1], {0: (1, 16), 1: (16, 128)})[0].over == (0, 1)


def test_a_candidate_that_cannot_run_everywhere_is_no_choice_for_all() -> None:
    points = [point(1, a=10, b=20), point(64, b=60)]
    assert ranges(points, ["b", "a"], [2], {2: (1, 64)}) == [Range("a", (2,), 8)]


def test_nothing_measured_means_no_choice() -> None:
    assert ranges([Measured((1,), {})], ["a"], [], {}) == []


def test_summary_is_robust_against_outliers() -> None:
    t = summarise("a", [10.0] * 30 + [11.0] * 28 + [500.0, 900.0], 3)
    assert t.median_ns < 11.5
    assert t.spread_ns == pytest.approx(1.4826 * 0.5, abs=0.8)
    assert t.samples == 60
