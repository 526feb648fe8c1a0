"""The process that runs candidates: `python -m dinoml.profile.child CHANNEL PROGRESS`. It may crash or hang; its parent expects that.

CHANNEL is the descriptor of a connection for jobs and results. PROGRESS is that of a page that both sides map: a heartbeat, and
what is being done, so that the parent knows which candidate to blame.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import sys
from multiprocessing.connection import Connection

from dinoml.profile import bench as driver
from dinoml.profile import data
from dinoml.profile.job import ENOUGH, Array, Job, PointJob, PointResult, Samples, Settings

PAGE = struct.Struct("<qqq")  # heartbeat, point, candidate (-1: none)
WROTE_OUTSIDE = 86  # exit status; memory of this process can no longer be trusted


class Progress:
    """The child's side of the progress page."""

    def __init__(self, fd: int) -> None:
        self._page = mmap.mmap(fd, PAGE.size)
        os.close(fd)
        self._beat = 0

    def __call__(self, point: int, candidate: int = -1) -> None:
        self._beat += 1
        PAGE.pack_into(self._page, 0, self._beat, point, candidate)


class Runner:
    """Holds the libraries of the current job."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._bench: tuple[tuple[str, int], driver.Bench] | None = None
        self._library: tuple[str, driver.Library] | None = None

    def bench(self, job: Job) -> driver.Bench:
        """Return the driver, opened once per library and number of workers."""
        key = (job.bench, job.settings.workers)
        if self._bench is None or self._bench[0] != key:
            self._bench = (key, driver.Bench(*key))
        return self._bench[1]

    def library(self, job: Job) -> driver.Library:
        """Return the library of candidates."""
        if self._library is None or self._library[0] != job.library:
            self._library = (job.library, driver.Library(job.library))
        return self._library[1]

    def run(self, job: Job, number: int, point: PointJob) -> PointResult:
        """Check and time all candidates of a point."""
        self.progress(number)
        bench = self.bench(job)
        arrays = data.contents(point)
        operands = driver.place(bench, point, job.settings, arrays)
        kernels = [driver.Kernel(bench, self.library(job), c) for c in point.candidates]
        refused: dict[str, str] = {}
        right: list[int] = []
        want = list(point.expected) if point.expected else None
        for i in sorted(range(len(kernels)), key=lambda i: kernels[i].run.name != point.plain):  # others are compared with the plain one
            self.progress(number, i)
            driver.reset(bench, point, operands, arrays)
            why, got = self._check(bench, point, operands, kernels[i], want, exact=point.expected is not None)
            if why:
                refused[point.candidates[i].name] = why
                continue
            want = got if want is None else want
            right.append(i)
        timings = self._time(number, job.settings, [(i, kernels[i]) for i in sorted(right)], operands) 
        return PointResult(
            point.index, tuple(s.timing(point.candidates[i].name) for i, s in timings.items()), tuple(refused.items()), operands.copies
        )

    def _check(
        self, bench: driver.Bench, point: PointJob, operands: driver.Operands, kernel: driver.Kernel, want: list[Array | None] | None, exact: bool
    ) -> tuple[str, list[Array | None]]:
        """Return why a candidate is refused (empty: it is not) and its results."""
        status, _ = kernel.call(operands.table[0])
        if status == -2 or not driver.guards_hold(bench, point, operands):
            os._exit(WROTE_OUTSIDE)
        if status:
            return f"launch failed with status {status}", []
        got = driver.results(bench, point, operands)
        if want is None:
            return ("" if kernel.run.name == point.plain else "there is nothing to compare it with: the plain candidate failed"), got
        for g, w in zip(got, want):
            if g is not None and w is not None and (why := data.difference(g, w, point, exact)):
                return f"wrong result: {why}", got
        return "", got

    def _time(self, number: int, settings: Settings, kernels: list[tuple[int, driver.Kernel]], operands: driver.Operands) -> dict[int, Samples]:
        """Return the samples of each candidate: in turn, until there are enough or time is up."""
        samples = {i: Samples() for i, _ in kernels}
        cursor = 0
        for i, kernel in kernels:
            self.progress(number, i)
            samples[i].runs = self._runs(kernel, operands, settings)
        active = list(kernels)
        for turn in range(settings.samples if active else 0):
            shift = turn % len(active)
            for i, kernel in active[shift:] + active[:shift]:
                self.progress(number, i)
                s = samples[i]
                took, quiet = kernel.time(operands.table, cursor, s.runs)
                cursor = (cursor + s.runs) % operands.copies
                s.add(took, quiet)
            active = [(i, k) for i, k in active if not _finished(samples, i, settings)]
            if not active:
                break
        return samples

    def _runs(self, kernel: driver.Kernel, operands: driver.Operands, settings: Settings) -> int:
        """Return how many runs make a sample of the wanted length; warms up on the way."""
        kernel.time(operands.table, 0, 1)
        runs = 1
        while runs < 100_000:
            took, _ = kernel.time(operands.table, 0, runs)
            if took >= settings.sample_ns:
                break
            runs = max(runs + 1, min(runs * 10, int(runs * 1.1 * settings.sample_ns / max(took, 1))))
        return runs


def _finished(samples: dict[int, Samples], i: int, settings: Settings) -> bool:
    """Whether a candidate has used its time, or is clearly slower than another."""
    own = samples[i]
    if len(own.ns) < settings.least_samples:
        return False
    if own.spent_ns >= settings.budget_ns:
        return True
    if len(own.quiet_ns) < ENOUGH:
        return False  # it may have been unlucky
    best = min(s.timing("").median_ns for s in samples.values() if s.ns)
    return min(own.ns) > 1.3 * best


def serve(channel: Connection, progress: Progress) -> None:
    """Answer jobs until there are no more: one message per point."""
    runner = Runner(progress)
    while True:
        try:
            job: Job = channel.recv()
        except EOFError:
            return
        for number, point in enumerate(job.points):
            try:
                answer = runner.run(job, number, point)
            except MemoryError as error:
                answer = PointResult(point.index, refused=tuple((c.name, str(error)) for c in point.candidates))
            channel.send(answer)


def die_with_parent() -> None:
    """Have the system end this process with its parent, hanging kernel or not."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "prctl"):
        libc.prctl(1, signal.SIGKILL, 0, 0, 0)


def main() -> None:
    """Serve on the descriptors of the command line."""
    die_with_parent()
    serve(Connection(int(sys.argv[1])), Progress(int(sys.argv[2])))


if __name__ == "__main__":
    main()
