"""Zero-copy runs through NumPy and DLPack."""

from __future__ import annotations

import ctypes
import importlib.util
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dinoml import runtime
from dinoml.runtime import errors


class Exporter:
    """Only DLPack, nothing else of NumPy."""

    def __init__(self, array: np.ndarray, *, old: bool = False, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.old, self.device = array, old, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("old", [False, True])
def test_inputs_are_not_copied(session: runtime.Session, x: np.ndarray, y: np.ndarray, old: bool) -> None:
    addresses = []
    session.set_trace(lambda event: addresses.append(event.operands[0]))
    out = session.run({"x": Exporter(x, old=old)})["y"]
    np.testing.assert_array_equal(out.numpy(), y)
    # The kernel reads the caller's memory: a change made by the trace after step 0 is seen by nobody, one before the run by the run.
    x[:] = 0
    np.testing.assert_array_equal(session.run({"x": Exporter(x, old=old)})["y"].numpy(), np.broadcast_to([1, 2, 3], (3, 3)))


def test_input_addresses(session: runtime.Session, x: np.ndarray) -> None:
    """A write between two steps, through the caller's array, reaches the operand."""
    seen = []

    def look(event: runtime.TraceEvent) -> None:
        if event.step == 0:
            x[0, 0] = 77
            seen.append(event.operands[0].numpy()[0])

    session.set_trace(look)
    session.run({"x": x})
    session.run({"x": Exporter(x)})
    assert seen == [77, 77]


def test_outputs_speak_dlpack(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    out = session.run({"x": x})["y"]
    assert out.shape == (3, 3) and out.dtype == "float32" and out.__dlpack_device__() == (1, 0)
    view = np.from_dlpack(out)
    np.testing.assert_array_equal(view, y)
    assert view.ctypes.data == out.numpy().ctypes.data and view.ctypes.data % 64 == 0
    np.testing.assert_array_equal(np.asarray(out), y)
    del out
    np.testing.assert_array_equal(view, y)
    session.run({"x": x})["y"].__dlpack__()  # never consumed


def test_chain(session: runtime.Session) -> None:
    """An output goes into the next run, bfloat16 included, for which NumPy has no DLPack."""
    first = session.run({"h": np.array([1, 2, 3], ml_dtypes.bfloat16)}, function="copy")["same"]
    second = session.run({"h": first}, function="copy")["same"]
    assert second.numpy().tolist() == [1, 2, 3]


def test_given_output(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    mine = np.zeros((3, 3), np.float32)
    assert session.run({"x": x}, out={"y": mine})["y"] is mine
    np.testing.assert_array_equal(mine, y)
    wrapped = Exporter(np.zeros((3, 3), np.float32))
    assert session.run({"x": x}, out={"y": wrapped})["y"] is wrapped
    np.testing.assert_array_equal(wrapped.array, y)


def test_given_output_with_extent(session: runtime.Session) -> None:
    v = np.array([1, -1, 2, -2], np.float32)
    mine = np.zeros(4, np.float32)
    session.run({"v": v, "half": v[:2].copy()}, function="pick", out={"found": mine})
    assert session.get_output_shape("found", function="pick") == (2,) and mine.tolist() == [1, 2, 0, 0]
    assert session.run({"v": v, "half": v[:2].copy()}, function="pick")["found"].shape == (2,)


def test_refusals(session: runtime.Session, x: np.ndarray) -> None:
    with pytest.raises(errors.NotContiguousError, match=r'input "x" is not contiguous.*row-major copy'):
        session.run({"x": np.asfortranarray(x)})
    with pytest.raises(errors.NotContiguousError):
        session.run({"x": Exporter(np.repeat(x, 2, axis=1)[:, ::2])})
    with pytest.raises(errors.DeviceError, match='input "x" is on DLPack device type 2'):
        session.run({"x": Exporter(x, device=(2, 0))})
    with pytest.raises(errors.ArgumentError, match='"x" is a int'):
        session.run({"x": 3})


def test_capsules_are_consumed(x: np.ndarray, session: runtime.Session) -> None:
    capsule = x.__dlpack__()

    class Once:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **options: Any) -> Any:
            return capsule

    session.run({"x": Once()})
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(capsule) == b"used_dltensor"


if importlib.util.find_spec("torch"):  # collected by the session that brings PyTorch

    def test_torch(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
        import torch

        tensor = torch.from_numpy(x)
        out = torch.from_dlpack(session.run({"x": tensor})["y"])
        np.testing.assert_array_equal(out.numpy(), y)
        half = torch.tensor([1.0, 2.0], dtype=torch.bfloat16)
        assert torch.equal(torch.from_dlpack(session.run({"h": half}, function="copy")["same"]), half)
