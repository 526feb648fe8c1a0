"""Constants: eager, deferred, replaced through the constant program."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from dinoml import runtime
from dinoml.artifact.manifest import CONSTANTS
from dinoml.artifact.safetensors_file import map_tensors
from dinoml.runtime import errors

IDS = {"ids": np.arange(4)}


def _table(session: runtime.Session) -> list[float]:
    return session.run_numpy(IDS, function="lookup")["values"].tolist()


def test_replace_stored_unchanged(module: runtime.Module, session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    module.set_constant_numpy("bias", np.array([0, 0, 100], np.float32))
    np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y - [1, 2, 3] + [0, 0, 100])


def test_replace_transformed(module: runtime.Module, session: runtime.Session, x: np.ndarray) -> None:
    weight = np.arange(24, 0, -1, dtype=np.float32).reshape(3, 8)
    module.set_constants({"weight": weight, "bias": np.zeros(3, np.float32)})
    np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], x @ weight.T)


def test_replace_merged(module: runtime.Module, session: runtime.Session) -> None:
    a = np.array([5, 6], np.float32)
    with pytest.raises(errors.ConstantsNotLoadedError, match=r'replacing "a" also needs "b".*in one call'):
        module.set_constants({"a": a})
    assert _table(session) == [2, 4, 6, 8]
    module.set_constants({"a": a, "b": a + 2})
    assert _table(session) == [10, 12, 14, 16]


def test_refused_as_a_whole(module: runtime.Module, session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    bias = np.zeros(3, np.float32)
    for other, error in (
        ({"weight": np.zeros((8, 3), np.float32)}, errors.ShapeError),
        ({"weight": np.zeros((3, 8), np.float64)}, errors.DTypeError),
        ({"nothing": bias}, errors.UnknownNameError),
        ({"a": bias[:2]}, errors.ConstantsNotLoadedError),
    ):
        with pytest.raises(error):
            module.set_constants({"bias": bias, **other})
    np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)


def test_strided_value_is_copied(module: runtime.Module, session: runtime.Session, x: np.ndarray) -> None:
    weight = np.asfortranarray(np.arange(24, dtype=np.float32).reshape(3, 8))
    module.set_constants({"weight": weight, "bias": np.zeros(6, np.float32)[::2]})
    np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], x @ weight.T)


def test_file_and_other_modules_keep_their_values(artifact: Path, x: np.ndarray, y: np.ndarray) -> None:
    before = (artifact / CONSTANTS).read_bytes()
    with runtime.load(artifact) as one, runtime.load(artifact) as two:
        one.set_constants({"bias": np.zeros(3, np.float32)})
        np.testing.assert_array_equal(two.create_session().run_numpy({"x": x})["y"], y)
        np.testing.assert_array_equal(one.create_session().run_numpy({"x": x})["y"], y - [1, 2, 3])
        one.load_constants()
        np.testing.assert_array_equal(one.create_session().run_numpy({"x": x})["y"], y)
    assert (artifact / CONSTANTS).read_bytes() == before


def test_deferred(artifact: Path, x: np.ndarray, y: np.ndarray) -> None:
    with runtime.load(artifact, constants="deferred") as module:
        session = module.create_session()
        assert set(module.constant_load_state().values()) == {False}
        with pytest.raises(errors.ConstantsNotLoadedError, match=r'"weight_t" has no value\. Call load_constants'):
            session.run_numpy({"x": x})
        module.load_constants()
        assert module.is_constant_loaded("weight")
        np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)
        module.unload_constants()
        assert not module.is_constant_loaded("bias")
        with pytest.raises(errors.ConstantsNotLoadedError):
            session.run_numpy({"x": x})


def test_deferred_and_all_set(copied: Path, x: np.ndarray, y: np.ndarray) -> None:
    (copied / CONSTANTS).unlink()
    with runtime.load(copied, constants="deferred") as module:
        session = module.create_session()
        module.set_constants({"bias": np.array([1, 2, 3], np.float32)})
        assert module.constant_load_state() == {"weight": False, "bias": True, "a": False, "b": False}
        module.set_constants({"weight": np.arange(24, dtype=np.float32).reshape(3, 8) / 8, "a": np.ones(2, np.float32), "b": np.ones(2, np.float32)})
        np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)
        assert _table(session) == [2, 2, 2, 2]
        with pytest.raises(errors.DamagedArtifactError):
            module.load_constants()
        np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)


def test_file_is_aligned(artifact: Path) -> None:
    stored = map_tensors(artifact / CONSTANTS)
    assert list(stored) == ["weight_t", "bias", "table"]
    assert all(array.ctypes.data % 64 == 0 for array in stored.values())
    assert stored["weight_t"].shape == (8, 3)


def test_safetensors_reads_it(artifact: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    loaded = safetensors.load_file(artifact / CONSTANTS)
    for name, array in map_tensors(artifact / CONSTANTS).items():
        np.testing.assert_array_equal(loaded[name], array)


def test_replacing_during_runs(module: runtime.Module, x: np.ndarray, y: np.ndarray) -> None:
    """Each run sees all of the old values or all of the new ones."""
    stop = threading.Event()
    seen: set[bytes] = set()

    def run() -> None:
        session = module.create_session(threads=1)
        while not stop.is_set():
            seen.add(session.run_numpy({"x": x})["y"].tobytes())

    workers = [threading.Thread(target=run) for _ in range(3)]
    for worker in workers:
        worker.start()
    weight = np.arange(24, dtype=np.float32).reshape(3, 8) / 8
    for turn in range(200):
        sign = np.float32(1 if turn % 2 else -1)
        module.set_constants({"weight": weight * sign, "bias": np.array([1, 2, 3], np.float32) * sign})
    stop.set()
    for worker in workers:
        worker.join()
    assert seen <= {y.tobytes(), (-y).tobytes()}


def test_not_from_a_trace(module: runtime.Module, session: runtime.Session, x: np.ndarray) -> None:
    other = module.create_session(threads=1)

    def change(event: runtime.TraceEvent) -> None:
        other.run_numpy({"x": x})
        module.set_constants({"bias": np.zeros(3, np.float32)})

    session.set_trace(change)
    with pytest.raises(errors.BusyError, match="during a run"):
        session.run_numpy({"x": x})
