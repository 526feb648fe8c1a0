"""Running: values, names, shapes, dtypes, layouts, fresh and given outputs."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from dinoml import runtime
from dinoml.runtime import errors


def test_main(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    out = session.run_numpy({"x": x})
    assert list(out) == ["y"] and out["y"].dtype == np.float32 and out["y"].flags.c_contiguous
    np.testing.assert_array_equal(out["y"], y)
    assert session.get_output_shape("y") == (3, 3)


def test_every_variant_and_memory_plan(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    kernels = []
    session.set_trace(lambda event: kernels.append(event.kernel))
    for batch in (3, 1, 2, 3, 1):
        np.testing.assert_array_equal(session.run_numpy({"x": x[:batch].copy()})["y"], y[:batch])
    assert kernels[::2] == ["k_matmul", "k_matmul_small", "k_matmul_small", "k_matmul", "k_matmul_small"]


def test_more_shapes_than_are_kept(session: runtime.Session) -> None:
    for turn in range(50):
        n = 2 * (turn % 4) + 2
        v = np.arange(n, dtype=np.float32)
        assert session.run_numpy({"v": v, "half": v[: n // 2].copy()}, function="pick")["found"].shape == (n - 1,)


def test_outputs_are_fresh(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    first = session.run_numpy({"x": x})["y"]
    second = session.run_numpy({"x": x + 1})["y"]
    np.testing.assert_array_equal(first, y)
    assert not np.shares_memory(first, second) and first.ctypes.data % 64 == 0
    first[:] = 0  # the caller owns it


def test_outputs_outlive_session_and_module(artifact: object, x: np.ndarray, y: np.ndarray) -> None:
    module = runtime.load(str(artifact))
    out = module.create_session().run_numpy({"x": x})["y"]
    module.close()
    del module
    np.testing.assert_array_equal(out, y)


def test_strided_inputs_are_copied(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    np.testing.assert_array_equal(session.run_numpy({"x": np.asfortranarray(x)})["y"], y)
    wide = np.repeat(x, 2, axis=1)
    np.testing.assert_array_equal(session.run_numpy({"x": wide[:, ::2]})["y"], y)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float32).reshape(3, 8)
    np.testing.assert_array_equal(session.run_numpy({"x": unaligned})["y"], y)
    read_only = x.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(session.run_numpy({"x": read_only})["y"], y)


def test_run_time_extent(session: runtime.Session) -> None:
    v = np.array([1, -1, 2, -2, 3, 0], dtype=np.float32)
    inputs = {"v": v, "half": v[:3].copy()}
    assert session.infer_shapes(inputs, function="pick") == {"found": (6,)}
    found = session.run_numpy(inputs, function="pick")["found"]
    np.testing.assert_array_equal(found, [1, 2, 3])
    assert session.get_output_shape("found", function="pick") == (3,)
    assert session.run_numpy({**inputs, "v": -abs(v)}, function="pick")["found"].shape == (0,)


def test_bfloat16(session: runtime.Session) -> None:
    h = np.array([1.5, -2, 3e38], dtype=ml_dtypes.bfloat16)
    same = session.run_numpy({"h": h}, function="copy")["same"]
    assert same.dtype == ml_dtypes.bfloat16 and same.tobytes() == h.tobytes()
    with pytest.raises(errors.DTypeError, match=r"uint16.*view\(ml_dtypes.bfloat16\)"):
        session.run_numpy({"h": h.view(np.uint16)}, function="copy")


def test_interface(module: runtime.Module) -> None:
    assert module.name == "fixture" and len(module.digest) == 64
    assert module.inputs["x"] == runtime.TensorInfo("x", "float32", ("batch", 8))
    assert module.function("pick").inputs[1].shape == ("even // 2",)
    assert module.function("pick").outputs[0].shape == ("<= even",)
    assert module.dims["even"] == runtime.DimInfo("even", 2, 8, 2)
    assert module.function().steps[0] == runtime.StepInfo("k_matmul_small", "matmul_0", "model.py:11")
    assert list(module.constants) == ["weight", "bias", "a", "b"] and list(module.states) == ["counter"]


def test_benchmark(session: runtime.Session, x: np.ndarray) -> None:
    result = session.benchmark({"x": x}, warmup=2, iterations=7, per_kernel=True)
    assert result.count == 7 and 0 < result.min_ms <= result.median_ms <= result.max_ms
    assert [k.kernel for k in result.kernels] == ["k_matmul_small", "k_add_bias"]
    assert abs(sum(k.share for k in result.kernels) - 1) < 1e-9
    assert session.benchmark({"x": x}).kernels == ()
    with pytest.raises(errors.ArgumentError):
        session.benchmark({"x": x}, iterations=0)


def test_trim(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    session.run_numpy({"x": x})
    assert session.info["arena_bytes"] >= 128 and session.info["threads"] == 2
    session.trim()
    assert session.info["arena_bytes"] == 0
    np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)


def test_closed(artifact: object, x: np.ndarray) -> None:
    with runtime.load(str(artifact)) as module:
        session, other = module.create_session(), module.create_session()
        other.close()
        other.close()
        with pytest.raises(errors.ClosedError):
            other.run_numpy({"x": x})
    module.close()
    for call in (lambda: session.run_numpy({"x": x}), module.create_session, module.load_constants, lambda: module.set_constants({})):
        with pytest.raises(errors.ClosedError):
            call()


def test_import_is_light() -> None:
    code = "import sys, dinoml.runtime; assert not {'numpy', 'dinoml._native', 'jinja2', 'yaml'} & set(sys.modules), sorted(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
