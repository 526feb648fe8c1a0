"""Measuring from outside: a child process per worker, watched, restarted when a candidate brings it down."""

from __future__ import annotations

import atexit
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Executor, Future
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from dinoml.profile.child import PAGE, WROTE_OUTSIDE
from dinoml.profile.job import Job, PointJob, PointResult


class Serial(Executor):
    """The default executor: runs a job when it is submitted, so that nothing else of ours runs beside it."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Fallen(Exception):
    """The child ended or hung while it worked on a candidate (its number, -1: none)."""

    def __init__(self, candidate: int, reason: str) -> None:
        super().__init__(reason)
        self.candidate, self.reason = candidate, reason


class Child:
    """A running child process."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        root = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
        self._channel, theirs = Pipe()
        with tempfile.TemporaryFile() as file, theirs:  # both sides map the file
            file.truncate(PAGE.size)
            self._page = mmap.mmap(file.fileno(), PAGE.size)
            fds = (theirs.fileno(), file.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dinoml.profile.child", *map(str, fds)], stdin=subprocess.DEVNULL, stdout=self._log,
                stderr=self._log, pass_fds=fds, env={**os.environ, "PYTHONPATH": paths},
            )  # fmt: skip
        self.owner = os.getpid()

    def send(self, job: Job) -> None:
        """Hand over a job; raise Fallen when the child is gone."""
        try:
            self._channel.send(job)
        except OSError:
            raise Fallen(-1, self._how_it_ended()) from None

    def receive(self, timeout_s: float) -> PointResult:
        """Return the next result; raise Fallen when the child ends, or shows no progress for `timeout_s`."""
        beat, since = -1, time.monotonic()
        while not self._channel.poll(0.25):
            seen, _, candidate = PAGE.unpack_from(self._page, 0)
            if seen != beat:
                beat, since = seen, time.monotonic()
            elif time.monotonic() - since > timeout_s:
                self.close()
                raise Fallen(candidate, f"did not return within {timeout_s:g} s")
        try:
            return self._channel.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            reason = self._how_it_ended()
            raise Fallen(PAGE.unpack_from(self._page, 0)[2], reason) from None

    def _how_it_ended(self) -> str:
        status = self._process.wait()
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").splitlines()
        self.close()
        if status == WROTE_OUTSIDE:
            return "wrote outside its operands or its scratch"
        if status < 0:
            return f"crashed with {signal.Signals(-status).name}"
        return f"ended its process with status {status}" + (f": {said[-1]}" if said else "")

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._channel.close()
        self._log.close()


_own = threading.local()


def _child() -> Child:
    """Return the child of this thread, started at first use."""
    child: Child | None = getattr(_own, "child", None)
    if child is None or child.owner != os.getpid():
        child = _own.child = Child()
        atexit.register(child.close)
    return child


def stop() -> None:
    """End the child of this thread, if there is one."""
    child: Child | None = getattr(_own, "child", None)
    if child is not None:
        child.close()
        atexit.unregister(child.close)
        _own.child = None


def measure(job: Job) -> list[PointResult]:
    """Return one result per point of a job. A candidate that crashes, hangs or writes outside its operands is refused everywhere."""
    out: dict[str, str] = {}  # candidates that brought the child down, and how
    done: list[PointResult] = []
    stuck = 0  # times that the child fell without a candidate to blame
    while len(done) < len(job.points):
        try:
            _continue(job, out, done)
        except Fallen as fallen:
            stop()
            left = [c for c in job.points[len(done)].candidates if c.name not in out]
            if 0 <= fallen.candidate < len(left):
                out[left[fallen.candidate].name] = fallen.reason
            elif stuck:
                done.append(_gave_up(job.points[len(done)], fallen.reason))
                stuck = 0
            else:
                stuck += 1
    return done


def _continue(job: Job, out: dict[str, str], done: list[PointResult]) -> None:
    """Measure the points that remain and append their results."""
    rest = job.points[len(done) :]
    child = _child()
    child.send(replace(job, points=tuple(replace(p, candidates=tuple(c for c in p.candidates if c.name not in out)) for p in rest)))
    for point in rest:
        result = child.receive(job.settings.timeout_s)
        lost = tuple((c.name, out[c.name]) for c in point.candidates if c.name in out)
        done.append(replace(result, refused=result.refused + lost))


def _gave_up(point: PointJob, reason: str) -> PointResult:
    return PointResult(point.index, refused=tuple((c.name, f"not measured: {reason}") for c in point.candidates))
