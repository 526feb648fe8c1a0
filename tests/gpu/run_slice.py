"""Run the GPU slice on an NVIDIA device: check every candidate of every case, then time the large ones.

    python3 tests/gpu/run_slice.py build/gpu_slice [--only TEXT] [--seconds N]

Needs PyTorch as allocator, for the copy and for cuBLAS; the reference is NumPy in float64 and the comparator is dinoml.compare.
Outputs are poisoned beforehand and followed by a guard. Large results are compared in 96 rows and searched for poison in all.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from slice_cases import CASES, Case, Input  # noqa: E402

from dinoml.compare import compare  # noqa: E402
from dinoml.ir import dtypes  # noqa: E402

TORCH = {name: getattr(torch, name) for name in dtypes.DTYPES}
GUARD = 256  # bytes behind each output
LARGE = 1 << 23  # elements from which only some rows are compared
SETS = 4  # rotating sets of buffers, so that no timed launch finds its operands in the cache


class Context(ctypes.Structure):
    """dml_ctx of csrc/include/dinoml/kernel.h."""

    _fields_ = [
        ("parallel_for", ctypes.c_void_p), ("workers", ctypes.c_int), ("scratch", ctypes.c_void_p),
        ("error", ctypes.c_void_p), ("stream", ctypes.c_void_p), ("pool", ctypes.c_void_p),
    ]  # fmt: skip


class Buffer:
    """Device memory of a shape, with a guard behind it; poisoned with 0xFF, which is NaN, -1 or a bool that is neither."""

    def __init__(self, shape: list[int], dtype: str) -> None:
        self.shape, self.dtype = tuple(shape), dtype
        self.nbytes = int(np.prod(shape, dtype=np.int64)) * dtypes.nbytes(dtype)
        self.bytes = torch.full((self.nbytes + GUARD,), 255, dtype=torch.uint8, device="cuda")

    @property
    def pointer(self) -> int:
        return int(self.bytes.data_ptr())

    @property
    def tensor(self) -> torch.Tensor:
        return self.bytes[: self.nbytes].view(TORCH[self.dtype]).view(self.shape)

    def guarded(self) -> bool:
        return bool((self.bytes[self.nbytes :] == 255).all())

    def written(self) -> bool:
        """Whether no element is poison: exact for floats (whose poison is NaN), not asked of integers."""
        return self.dtype not in ("float16", "float32", "bfloat16") or not bool(torch.isnan(self.tensor).any())

    def numpy(self, rows: np.ndarray | None = None) -> np.ndarray:
        t = self.tensor if rows is None else self.tensor[torch.from_numpy(rows).cuda()]
        flat = t.contiguous().view(torch.uint8).cpu().numpy().reshape(-1)
        return flat.view(dtypes.numpy_dtype(self.dtype)).reshape(t.shape)


class Library:
    """The kernels of a built slice."""

    def __init__(self, folder: Path) -> None:
        self.so = ctypes.CDLL(str(folder / "slice.so"))
        self.error = torch.zeros(1, dtype=torch.int32, device="cuda")

    def prepare(self, step: dict[str, Any], variant: dict[str, Any], buffers: dict[str, Buffer]) -> Callable[[], None]:
        """Return a launch with all arguments bound; it raises RuntimeError on a launch status."""
        ints = (ctypes.c_int64 * max(len(variant["ints"]), 1))(*variant["ints"])
        pointers = (ctypes.c_void_p * len(step["operands"]))(*(buffers[o["name"]].pointer for o in step["operands"]))
        context = Context(workers=1, error=self.error.data_ptr(), stream=torch.cuda.current_stream().cuda_stream)
        scratch = None
        if variant["scratch"]:
            ask = getattr(self.so, variant["entry"] + "_scratch")
            ask.restype = ctypes.c_int64
            scratch = torch.empty(max(int(ask(ints, 1)), 1), dtype=torch.uint8, device="cuda")
            context.scratch = scratch.data_ptr()
        entry = getattr(self.so, variant["entry"])

        def launch(keep: Any = scratch) -> None:
            status = entry(ctypes.byref(context), pointers, ints)
            if status:
                raise RuntimeError(f"{variant['entry']} ({variant['candidate']}) returned {status}")

        return launch


def random_into(buffer: Buffer, item: Input, seed: int, specials: bool) -> None:
    """Fill a buffer with random values of its storage dtype."""
    torch.manual_seed(seed)
    x = torch.rand(buffer.shape, device="cuda", dtype=torch.float32) * (item.high - item.low) + item.low
    if item.whole:
        x = x.floor()
    if specials and x.dim() == 2 and x.shape[0] >= 5:
        x[0, 3], x[1, 5], x[2, 7], x[3, :] = float("nan"), float("inf"), float("-inf"), float("-inf")
    buffer.tensor.copy_(x.to(TORCH[buffer.dtype]))


def check(case: Case, buffers: dict[str, Buffer], outputs: dict[str, str]) -> tuple[float, str]:
    """Return (worst fraction of the comparator's limit, what is wrong or "")."""
    first = buffers[next(iter(outputs.values()))]
    rows = None
    if first.tensor.numel() >= LARGE:
        count = first.shape[0]
        rows = np.unique(np.concatenate([[0, 1, count - 1], np.random.default_rng(0).integers(0, count, 93)]))
    arrays = {}
    for name in {**case.inputs, **case.constants}:
        b = buffers[name]
        of_rows = rows is not None and b.shape[0] == first.shape[0] and len(b.shape) == len(first.shape) and name not in ("w",)
        arrays[name] = b.numpy(rows if of_rows else None).astype(np.float64)
    with np.errstate(all="ignore"):
        want = case.reference(arrays, case.storage)
    worst = 0.0
    for name, value in outputs.items():
        b = buffers[value]
        got = b.numpy(rows)
        c = compare(got, want[name], dtype=b.dtype, reduction_length=case.reduction, limit_override=case.limit)
        worst = max(worst, c.worst / c.limit if c.limit else c.worst)
        if not c.ok:
            return worst, f"{name}: {c.message}"
        if not b.guarded():
            return worst, f"{name}: the guard behind it was overwritten"
        if not case.specials and not b.written():
            return worst, f"{name}: some elements were not written"
    return worst, ""


def seconds_of(launches: list[Callable[[], None]], repeats: int = 15) -> float:
    """Return the median seconds of a launch over rotating buffers."""
    for f in launches:
        f()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(repeats):
        start.record()
        for f in launches * 2:
            f()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / (2 * len(launches)))
    return statistics.median(times) * 1e-3


class Runner:
    """Runs cases and keeps the outcome."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.library = Library(folder)
        self.cases = {c["name"]: c for c in json.loads((folder / "slice.json").read_text())["cases"]}
        self.deadline = time.time() + seconds
        self.failures: list[str] = []
        self.checked = 0
        self.copies: dict[int, float] = {}

    def buffers(self, case: Case, run: dict[str, Any], seed: int) -> dict[str, Buffer]:
        """Return filled inputs, stored constants and poisoned results."""
        out: dict[str, Buffer] = {}
        for k, (name, item) in enumerate({**case.inputs, **case.constants}.items()):
            out[name] = Buffer(list(case.shape(item, run["dims"])), item.dtype)
            random_into(out[name], item, seed + k, case.specials and k == 0)
        for step in (*run["program"], *run["main"]):
            for o in step["operands"]:
                if o["name"] not in out and o["written"]:
                    out[o["name"]] = Buffer(o["shape"], o["dtype"])
            if step in run["program"]:
                self.library.prepare(step, next(v for v in step["variants"] if v["fits"]), out)()
                for stored, value in run["stored"].items():
                    if value in out:
                        out[stored] = out[value]
        return out

    def run(self, case: Case) -> None:
        """Check every candidate of a case at every binding of its dims, and time it where asked."""
        for run in self.cases[case.name]["runs"]:
            assert len(run["main"]) == 1, f"{case.name} should be one kernel"
            (step,) = run["main"]
            for variant in step["variants"]:
                if not variant["fits"]:
                    continue
                buffers = self.buffers(case, run, 1)
                launch = self.library.prepare(step, variant, buffers)
                self.library.error.zero_()
                launch()
                torch.cuda.synchronize()
                worst, wrong = check(case, buffers, run["outputs"])
                self.checked += 1
                label = f"{case.name} {' '.join(f'{k}={v}' for k, v in run['dims'].items())} {variant['candidate']}"
                said = int(self.library.error.item())
                if bool(said) != case.reports:
                    wrong = wrong or f"the error word is {said:#x}"
                if wrong:
                    self.failures.append(f"{label}: {wrong}")
                    print(f"FAIL {label:58s} {wrong}", flush=True)
                else:
                    speed = self.timed(case, run, step, variant) if case.timed and time.time() < self.deadline else ""
                    print(f"ok   {label:58s} {worst:6.3f} of the limit  {speed}", flush=True)
                del buffers, launch

    def timed(self, case: Case, run: dict[str, Any], step: dict[str, Any], variant: dict[str, Any]) -> str:
        """Return the speed of a variant and its peer's in this run."""
        sets = [self.buffers(case, run, 10 * s) for s in range(SETS)]
        t = seconds_of([self.library.prepare(step, variant, b) for b in sets])
        if case.flops:
            ours = case.flops / t / 1e12
            peer = seconds_of([partial(torch.nn.functional.linear, b["x"].tensor, b["w"].tensor, b["b"].tensor) for b in sets])
            return f"{t * 1e6:8.1f} us  {ours:6.1f} TFLOP/s  cuBLAS {peer * 1e6:.1f} us, {case.flops / peer / 1e12:.0f} TFLOP/s"
        moved = sum(sets[0][o["name"]].nbytes for o in step["operands"])
        copy = self.copy(sets[0][step["operands"][0]["name"]].nbytes)
        return f"{t * 1e6:8.1f} us  {moved / t / 1e12:5.2f} TB/s  {moved / t / copy:5.3f} of copy"

    def copy(self, nbytes: int) -> float:
        """Return bytes per second of a device copy, read and written."""
        if nbytes not in self.copies:
            tensors = torch.ones((2 * SETS, nbytes), dtype=torch.uint8, device="cuda")
            self.copies[nbytes] = 2 * nbytes / seconds_of([partial(a.copy_, b) for a, b in zip(tensors[::2], tensors[1::2])])
            print(f"     device copy of {nbytes / 2**20:.0f} MiB: {self.copies[nbytes] / 1e12:.2f} TB/s", flush=True)
        return self.copies[nbytes]

    def functions(self) -> None:
        """Print the largest error of each float32 function over all arguments."""
        self.library.so.dml_ulp_names.restype = ctypes.c_char_p
        names = self.library.so.dml_ulp_names().decode().split()
        worst = torch.zeros(len(names), dtype=torch.int64, device="cuda")
        status = self.library.so.dml_ulp(ctypes.c_void_p(worst.data_ptr()), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        torch.cuda.synchronize()
        for item, word in zip(names, worst.tolist()):
            name, bound = item.split("=")
            x, error = np.array([word & 0xFFFFFFFF], np.uint32).view(np.float32)[0], max((word >> 32) / 1000, 0.5)
            print(f"     {name:8s} {error:9.3f} ulp, bound {bound}, at {x!r}", flush=True)
            if error > float(bound):
                self.failures.append(f"{name}: {error} ulp at {x!r}")
        if status:
            self.failures.append(f"dml_ulp returned {status}")


def main() -> int:
    """Run and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--seconds", type=float, default=200, help="no timing is begun after this")
    arguments = parser.parse_args()
    count = torch.cuda.get_device_properties(0).multi_processor_count
    print(f"{torch.cuda.get_device_name()}, {count} multiprocessors, torch {torch.__version__}, seed 1")
    runner = Runner(arguments.folder, arguments.seconds)
    for case in CASES:
        if arguments.only in case.name:
            try:
                runner.run(case)
            except Exception as error:
                runner.failures.append(f"{case.name}: {error!r}")
                print(f"FAIL {case.name}: {error!r}", flush=True)
                if "CUDA" in repr(error):
                    break  # nothing that follows on this device would mean anything
    if not arguments.only:
        runner.functions()
    print(f"{runner.checked} candidates checked, {len(runner.failures)} failures", *runner.failures, sep="\n  ")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
