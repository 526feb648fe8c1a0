from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from dinoml.compare import compare, limit, ratios


def test_limits() -> None:
    assert limit("float32") == 2.0
    assert limit("float32", 1024) == 18.0
    assert limit("float16", 1024) == limit("bfloat16") == 1.0
    assert limit("int64") == limit("bool") == 0.0


def test_rounding_passes_and_more_fails() -> None:
    want = np.random.default_rng(0).standard_normal((7, 33))
    got = want.astype(np.float32)
    assert compare(got, want)
    bad = got.copy()
    bad[3, 5] += np.float32(1e-5)
    result = compare(bad, want)
    assert not result
    assert result.index == (3, 5)
    assert "[3, 5]" in result.message


def test_the_row_sets_the_scale_not_the_tensor() -> None:
    want = np.array([[1e6, 1e6], [1.0, 1.0]])
    got = want.astype(np.float32)
    got[1, 0] += np.float32(0.01)
    assert not compare(got, want)
    lone = np.array([[1e6, 1e-3]])  # beside a large element of the same row a small one may be off by that row's scale
    assert compare(np.array([[1e6, 1.1e-3]], np.float32), lone)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_match_in_place_and_sign(value: float) -> None:
    want = np.array([1.0, value, 3.0])
    assert compare(want.astype(np.float32), want)
    for wrong in (0.0, -value, 1e30):
        got = want.astype(np.float32)
        got[1] = wrong
        if not (np.isnan(value) and np.isnan(wrong)):
            assert not compare(got, want)
    assert not compare(np.array([np.nan, value, 3.0], np.float32), want)


def test_a_result_of_nan_fails_although_no_ratio_is_above_the_limit() -> None:
    assert not compare(np.full(4, np.nan, np.float32), np.ones(4))
    assert np.all(np.isinf(ratios(np.full(4, np.nan, np.float32), np.ones(4), "float32")))


def test_overflow_of_the_storage_dtype_is_an_infinity() -> None:
    assert compare(np.array([np.inf, 1.0], np.float16), np.array([1e6, 1.0]))
    assert not compare(np.array([65504.0, 1.0], np.float16), np.array([1e6, 1.0]))


def test_integers_bools_and_copies_are_exact() -> None:
    assert compare(np.array([1, 2]), np.array([1, 2]))
    assert not compare(np.array([1, 2]), np.array([1, 3]))
    assert not compare(np.array([True]), np.array([False]))
    x = np.array([1.0, np.nan], np.float32)
    assert compare(x, x.astype(np.float64), exact=True)
    assert not compare(np.nextafter(x, np.float32(9)), x.astype(np.float64), exact=True)


def test_bfloat16_and_shapes() -> None:
    want = np.random.default_rng(0).standard_normal(50)
    assert compare(want.astype(ml_dtypes.bfloat16), want)
    assert not compare((want * 1.03).astype(ml_dtypes.bfloat16), want)
    assert "shape" in compare(np.zeros(3, np.float32), np.zeros(4)).message
    assert compare(np.zeros((0, 4), np.float32), np.zeros((0, 4)))


def test_zero_rows_demand_zeros() -> None:
    assert compare(np.zeros(3, np.float32), np.zeros(3))
    assert not compare(np.full(3, 1e-30, np.float32), np.zeros(3))


def test_huge_values_do_not_overflow_the_scale() -> None:
    want = np.array([1e300, 2e300])
    assert np.all(np.isfinite(ratios(np.zeros(2, np.float32), np.array([1e30, 2e30]), "float32")))
    assert compare(np.array([np.inf, np.inf], np.float32), want)
