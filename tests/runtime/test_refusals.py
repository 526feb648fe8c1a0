"""What a run refuses, and that the message names the tensor, the axis, the value and the way out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dinoml import runtime
from dinoml.runtime import errors

X = np.zeros((3, 8), np.float32)
V = np.zeros(4, np.float32)

CASES: list[tuple[str, str | None, dict[str, Any], type[Exception], str]] = [
    ("missing input", None, {}, errors.UnknownNameError, '"main": input "x" is missing'),
    ("unknown input", None, {"x": X, "z": X}, errors.UnknownNameError, 'no input "z".*takes: x'),
    ("unknown function", "nothing", {"x": X}, errors.UnknownNameError, 'no function "nothing".*main, count'),
    ("list", None, {"x": X.tolist()}, errors.ArgumentError, '"x" is a list'),
    ("dtype", None, {"x": X.astype(np.float64)}, errors.DTypeError, '"x" is float64, expected float32'),
    ("unknown dtype", None, {"x": X.astype(np.complex64)}, errors.DTypeError, "complex64"),
    ("byte order", None, {"x": X.astype(">f4")}, errors.DTypeError, ">f4"),
    ("rank", None, {"x": X[0]}, errors.ShapeError, '"x" has 1 axes, expected 2'),
    ("fixed axis", None, {"x": np.zeros((3, 7), np.float32)}, errors.ShapeError, r"\[3, 7\], expected \[batch, 8\] \(axis 1 must be 8\)"),
    ("above max", None, {"x": np.zeros((5, 8), np.float32)}, errors.DimRangeError, r"axis 0 \(dim batch\) is 5, allowed 1..4.*Dim"),
    ("below min", None, {"x": np.zeros((0, 8), np.float32)}, errors.DimRangeError, "is 0, allowed 1..4"),
    ("multiple", "pick", {"v": V[:3], "half": V[:1]}, errors.DimRangeError, r"axis 0 \(dim even\) is 3, which is not a multiple of 2"),
    ("expression", "pick", {"v": V, "half": V[:3]}, errors.ShapeError, r'"half" has shape \[3\], expected \[2\]'),
]


@pytest.mark.parametrize(("function", "inputs", "error", "message"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_inputs(session: runtime.Session, function: str | None, inputs: dict[str, Any], error: type[Exception], message: str) -> None:
    for run in (session.run_numpy, session.run):
        with pytest.raises(error, match=message) as caught:
            run(inputs, function=function)
        assert isinstance(caught.value, errors.DinoMLError)
    session.run_numpy({"x": X})  # still usable


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x: {"z": x}, errors.UnknownNameError, 'no output "z"'),
        (lambda x: {"y": np.zeros((3, 4), np.float32)}, errors.ShapeError, r"\[3, 4\], expected \[3, 3\]"),
        (lambda x: {"y": np.zeros((3, 3), np.float64)}, errors.DTypeError, "float64"),
        (lambda x: {"y": np.zeros((3, 6), np.float32)[:, ::2]}, errors.NotContiguousError, 'output "y" is not contiguous'),
        (lambda x: {"y": x.reshape(-1)[:9].reshape(3, 3)}, errors.OverlapError, 'output "y" shares memory with input "x"'),
        (lambda x: {"y": np.broadcast_to(np.float32(0), (3, 3))}, errors.DinoMLError, "read-only"),
    ],
)
def test_given_outputs(session: runtime.Session, make: Any, error: type[Exception], message: str) -> None:
    x = X.copy()
    with pytest.raises(error, match=message):
        session.run({"x": x}, out=make(x))
    assert not x.any()


def test_index_error(session: runtime.Session) -> None:
    table = session.run_numpy({"ids": np.array([0, 3])}, function="lookup")["values"]
    np.testing.assert_array_equal(table, [2, 8])
    where = r'step 0 \(kernel k_lookup, node lookup_0, model.py:21\): an index in input "ids"'
    with pytest.raises(errors.IndexOutOfRangeError, match=where) as caught:
        session.run_numpy({"ids": np.array([0, 4])}, function="lookup")
    assert isinstance(caught.value, IndexError)
    np.testing.assert_array_equal(session.run_numpy({"ids": np.array([1])}, function="lookup")["values"], [4])


def _misbehave(session: runtime.Session, how: int) -> np.ndarray:
    return session.run_numpy({"how": np.array([how])}, function="misbehave")["result"]


def test_launch_status(session: runtime.Session) -> None:
    assert _misbehave(session, 0) == 0
    with pytest.raises(errors.KernelError, match=r"step 0 \(kernel k_misbehave, node bad_0, model.py:31\) failed with launch status 7"):
        _misbehave(session, 2)


def test_debug(module: runtime.Module) -> None:
    session = module.create_session(threads=2, debug=True)
    assert session.info["debug"] and _misbehave(session, 0) == 0
    with pytest.raises(errors.KernelError, match=r"k_misbehave.*wrote past the end of the scratch"):
        _misbehave(session, 1)
    assert np.isnan(_misbehave(session, 3))


def test_shape_before_run(session: runtime.Session) -> None:
    with pytest.raises(errors.ArgumentError, match='"main" has not run yet'):
        session.get_output_shape("y")


def test_threads(module: runtime.Module) -> None:
    for threads in (0, -1, 5000):
        with pytest.raises(errors.ArgumentError, match=str(threads)):
            module.create_session(threads=threads)
