"""The measuring process's view of csrc/profile/bench.cpp: operands in device memory, checked runs, timed runs."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from dinoml.ir import dtypes
from dinoml.profile.job import Array, BufferSpec, CandidateRun, PointJob, Settings

ALIGNMENT = 64
GUARD = np.full(64, 0xA5, np.uint8)
MOST_COPIES = 2048


class Bench:
    """One driver library with its thread pool and its memory."""

    def __init__(self, path: str, workers: int) -> None:
        self.lib = ctypes.CDLL(path)
        i64, ptr, i32 = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int
        for name, result, arguments in (
            ("dml_bench_default_workers", i32, []),
            ("dml_bench_open", ptr, [i32]),
            ("dml_bench_block", ptr, [ptr, i64]),
            ("dml_bench_copy", None, [ptr, ptr, ptr, i64]),
            ("dml_bench_call", i32, [ptr, ptr, ptr, ptr, i64, ptr]),
            ("dml_bench_time", i64, [ptr, ptr, ptr, i32, i32, i32, ptr, i64, ptr]),
        ):
            function = getattr(self.lib, name)
            function.restype, function.argtypes = result, arguments
        self.workers = workers
        self.handle = self.lib.dml_bench_open(workers)

    def block(self, nbytes: int) -> int:
        """Return the address of a block for operands; raise MemoryError."""
        address = self.lib.dml_bench_block(self.handle, nbytes)
        if not address:
            raise MemoryError(f"no {nbytes} bytes for operands")
        return int(address)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Copy between operands."""
        self.lib.dml_bench_copy(self.handle, to, source, nbytes)

    def write(self, to: int, array: Array) -> None:
        """Copy an array into an operand."""
        data = np.ascontiguousarray(array)
        self.lib.dml_bench_copy(self.handle, to, data.ctypes.data, data.nbytes)

    def read(self, source: int, out: Array) -> Array:
        """Copy an operand into an array."""
        self.lib.dml_bench_copy(self.handle, out.ctypes.data, source, out.nbytes)
        return out


class Library:
    """The candidates of a run; `path` is what CpuDevice.kernel_library built."""

    def __init__(self, path: str) -> None:
        lib = ctypes.CDLL(path)
        self.find, self.scratch = lib.dml_candidate, lib.dml_candidate_scratch
        self.find.restype, self.find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        self.scratch.restype, self.scratch.argtypes = ctypes.c_int64, [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int]


class Kernel:
    """One candidate at one point, ready to be called."""

    def __init__(self, bench: Bench, library: Library, run: CandidateRun) -> None:
        self.bench, self.run = bench, run
        name = run.symbol.encode()
        self.fn = library.find(name)
        if not self.fn:
            raise KeyError(f"the library has no kernel {run.symbol}")
        self.ints = np.asarray(run.ints or (0,), np.int64)
        self.scratch = max(0, int(library.scratch(name, self.ints.ctypes.data, bench.workers)))

    def call(self, pointers: Array) -> tuple[int, int]:
        """Run once on a row of pointers and return (status, error word)."""
        error = ctypes.c_uint32(0)
        status = self.bench.lib.dml_bench_call(
            self.bench.handle, self.fn, pointers.ctypes.data, self.ints.ctypes.data, self.scratch, ctypes.byref(error)
        )
        return int(status), int(error.value)

    def time(self, table: Array, first: int, runs: int) -> tuple[int, bool]:
        """Return the nanoseconds of `runs` runs over the rows of a pointer table, and whether nothing took a CPU away meanwhile."""
        rows, width = table.shape
        preempted = ctypes.c_int64(0)
        took = self.bench.lib.dml_bench_time(
            self.bench.handle, self.fn, table.ctypes.data, width, rows, first, self.ints.ctypes.data, runs, ctypes.byref(preempted)
        )
        return int(took), preempted.value == 0


@dataclass(frozen=True)
class Operands:
    """The buffers of a point in device memory. `places[i][c]` is the address of copy c of buffer i, `table` one row of pointers per copy."""

    places: tuple[tuple[int, ...], ...]
    table: Array

    @property
    def copies(self) -> int:
        return int(self.table.shape[0])


def nbytes(spec: BufferSpec) -> int:
    """Return the bytes of a buffer."""
    return spec.count * dtypes.nbytes(spec.dtype)


def _room(spec: BufferSpec) -> int:
    return (nbytes(spec) + GUARD.nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def copies_of(buffers: tuple[BufferSpec, ...], settings: Settings) -> list[int]:
    """Return how many copies of each buffer the runs go round.

    A model touches many other bytes before it comes back to a constant, so constants must be cold. Activations were written
    just before; only those too large for a cache are cold.
    """
    constants = sum(nbytes(b) for b in buffers if b.constant)
    others = sum(nbytes(b) for b in buffers if not b.constant)

    def needed(size: int, least: int) -> int:
        return max(least, min(MOST_COPIES, -(-settings.rotate_bytes // max(1, size))))

    cold, near = needed(constants, 1), needed(others, 2) if others > settings.near_bytes else 4
    return [cold if b.constant else near for b in buffers]


def place(bench: Bench, point: PointJob, settings: Settings, arrays: list[Array]) -> Operands:
    """Lay out all copies and fill them."""
    counts = copies_of(point.buffers, settings)
    total = sum(_room(b) * n for b, n in zip(point.buffers, counts))
    at = bench.block(total + ALIGNMENT)
    places: list[tuple[int, ...]] = []
    for spec, n, array in zip(point.buffers, counts, arrays):
        room = _room(spec)
        own = tuple(at + c * room for c in range(n))
        at += n * room
        bench.write(own[0], array)
        bench.write(own[0] + array.nbytes, GUARD)
        for address in own[1:]:
            bench.copy(address, own[0], array.nbytes)
        places.append(own)
    rows = np.arange(max(counts))
    table = np.zeros((rows.size, max(1, len(point.operands))), np.uintp)
    for column, buffer in enumerate(point.operands):
        table[:, column] = np.asarray(places[buffer], np.uintp)[rows % counts[buffer]]
    return Operands(tuple(places), table)


def reset(bench: Bench, point: PointJob, operands: Operands, arrays: list[Array]) -> None:
    """Restore the first copy of what kernels write."""
    for spec, own, array in zip(point.buffers, operands.places, arrays):
        if spec.written:
            bench.write(own[0], array)


def results(bench: Bench, point: PointJob, operands: Operands) -> list[Array | None]:
    """Return what the buffers hold that the kernel writes."""
    return [
        bench.read(own[0], np.empty(b.shape, dtypes.numpy_dtype(b.dtype))) if b.written else None
        for b, own in zip(point.buffers, operands.places)
    ]


def guards_hold(bench: Bench, point: PointJob, operands: Operands) -> bool:
    """Whether the bytes behind all buffers are untouched."""
    return all(
        np.array_equal(bench.read(own[0] + nbytes(b), np.empty_like(GUARD)), GUARD) for b, own in zip(point.buffers, operands.places)
    )

