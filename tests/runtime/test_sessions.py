"""Sessions: states, threads, re-entry, traces, forks."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest

from dinoml import runtime
from dinoml.runtime import errors


def _count(session: runtime.Session, amount: int) -> int:
    return int(session.run_numpy({"amount": np.array([amount])}, function="count")["total"][0])


def test_states_belong_to_the_session(module: runtime.Module) -> None:
    one, two = module.create_session(), module.create_session()
    assert [_count(one, 2), _count(one, 3), _count(two, 10)] == [2, 5, 10]
    assert one.get_state_numpy("counter").tolist() == [5]
    one.set_state_numpy("counter", np.array([40]))
    assert _count(one, 2) == 42
    one.reset_states("counter")
    two.reset_states()
    assert _count(one, 1) == 1 and _count(two, 1) == 1


def test_state_refusals(session: runtime.Session) -> None:
    for call in (lambda: session.get_state_numpy("z"), lambda: session.set_state_numpy("z", np.array([1])), lambda: session.reset_states("z")):
        with pytest.raises(errors.UnknownNameError, match='no state "z"'):
            call()
    with pytest.raises(errors.ShapeError, match=r'state "counter" has shape \[2\], expected \[1\]'):
        session.set_state_numpy("counter", np.array([1, 2]))
    with pytest.raises(errors.DTypeError):
        session.set_state_numpy("counter", np.array([1.0]))


def test_sessions_in_parallel(module: runtime.Module, x: np.ndarray) -> None:
    weight, bias = np.arange(24, dtype=np.float32).reshape(3, 8) / 8, np.array([1, 2, 3], np.float32)
    problems: list[object] = []

    def work(seed: int) -> None:
        session = module.create_session(threads=1 + seed % 3)
        for turn in range(100):
            mine = (x + np.float32(seed * 100 + turn))[: 1 + (seed + turn) % 3].copy()
            if not np.array_equal(session.run_numpy({"x": mine})["y"], mine @ weight.T + bias):
                problems.append((seed, turn))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 33])
def test_parallel_loops_cover_everything_once(module: runtime.Module, threads: int) -> None:
    session = module.create_session(threads=threads)
    for _ in range(50):
        assert (session.run_numpy({}, function="loops")["visits"] == 4).all()


def _start_waiting(session: runtime.Session, ms: int) -> threading.Thread:
    """Return a thread that runs the session for some time, once that run has begun."""

    def wait() -> None:
        while True:
            try:
                session.run_numpy({"ms": np.array([ms])}, function="wait")
            except errors.BusyError:  # the look below was in the way
                continue
            return

    thread = threading.Thread(target=wait)
    thread.start()
    with pytest.raises(errors.BusyError):
        while thread.is_alive():  # the GIL is free during the run, so this gets in
            assert session.info
    return thread


def test_busy(module: runtime.Module, session: runtime.Session, x: np.ndarray) -> None:
    waiter = _start_waiting(session, 500)
    with pytest.raises(errors.BusyError, match="one session per thread"):
        session.run_numpy({"x": x})
    for call in (session.close, module.close, session.trim, lambda: session.set_trace(None), session.reset_states):
        with pytest.raises(errors.BusyError):
            call()
    waiter.join()
    session.run_numpy({"x": x})


def test_trace(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    events: list[runtime.TraceEvent] = []
    values: dict[str, np.ndarray] = {}

    def look(event: runtime.TraceEvent) -> None:
        events.append(event)
        values.update({f"{o.kind}:{o.name}": o.numpy() for o in event.operands})

    session.set_trace(look)
    session.run_numpy({"x": x})
    steps = [(e.step, e.kernel, e.node, e.source) for e in events]
    assert steps == [(0, "k_matmul", "matmul_0", "model.py:11"), (1, "k_add_bias", "add_1", "model.py:12")]
    np.testing.assert_array_equal(values["input:x"], x.reshape(-1))
    np.testing.assert_array_equal(values["value:product"], (y - [1, 2, 3]).reshape(-1))
    np.testing.assert_array_equal(values["output:y"], y.reshape(-1))
    assert values["constant:bias"].tolist() == [1, 2, 3]
    with pytest.raises(errors.ClosedError, match="after the trace callback"):
        events[0].operands[0].numpy()
    session.set_trace(None)
    session.run_numpy({"x": x})
    assert len(events) == 2


def test_trace_raises(session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    def stop(event: runtime.TraceEvent) -> None:
        raise LookupError(event.node)

    session.set_trace(stop)
    with pytest.raises(LookupError, match="matmul_0"):
        session.run_numpy({"x": x})
    session.set_trace(None)
    np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)


def test_reentry_from_trace(session: runtime.Session, x: np.ndarray) -> None:
    session.set_trace(lambda event: session.run_numpy({"x": x}))
    with pytest.raises(errors.BusyError):
        session.run_numpy({"x": x})


def test_another_session_from_trace(module: runtime.Module, session: runtime.Session, x: np.ndarray, y: np.ndarray) -> None:
    other = module.create_session(threads=2)
    inner: list[Any] = []
    session.set_trace(lambda event: inner.append(other.run_numpy({"x": x})["y"]))
    np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)
    assert len(inner) == 2 and np.array_equal(inner[0], y)


def _in_child(body: Any) -> int:
    """Return the exit code of a forked child that runs `body`; 99 when it hangs."""
    pid = os.fork()
    if pid == 0:
        try:
            threading.Timer(20, lambda: os._exit(99)).start()
            body()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork(module: runtime.Module, session: runtime.Session) -> None:
    session.run_numpy({}, function="loops")

    def child() -> None:
        for _ in range(20):
            assert (session.run_numpy({}, function="loops")["visits"] == 4).all()
        assert (module.create_session(threads=3).run_numpy({}, function="loops")["visits"] == 4).all()
        module.set_constants({"bias": np.zeros(3, np.float32)})
        module.close()

    assert _in_child(child) == 0
    assert (session.run_numpy({}, function="loops")["visits"] == 4).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_during_a_run(module: runtime.Module, session: runtime.Session) -> None:
    """The child may use a session that the parent was running at the time, and change constants."""
    waiter = _start_waiting(session, 500)

    def child() -> None:
        assert (session.run_numpy({}, function="loops")["visits"] == 4).all()
        module.set_constants({"bias": np.zeros(3, np.float32)})

    assert _in_child(child) == 0
    waiter.join()
