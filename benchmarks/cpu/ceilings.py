"""The machine's ceilings, from benchmarks/native/ceilings.cpp."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from dinoml.build.toolchain import find_toolchain
from dinoml.targets import Target

SOURCE = Path(__file__).parents[1] / "native" / "ceilings.cpp"


@cache
def _library() -> ctypes.CDLL:
    out = Path(tempfile.mkdtemp(prefix="dinoml-ceilings-")) / "ceilings.so"
    command = [
        *find_toolchain().command,
        "-std=c++17",
        "-O3",
        "-fPIC",
        "-shared",
        "-pthread",
        "-ffp-contract=fast",
        *Target("cpu").flags,
        str(SOURCE),
        "-o",
        str(out),
    ]
    subprocess.run(command, check=True)
    lib = ctypes.CDLL(str(out))
    for name in ("fma_ceiling", "copy_seconds", "read_bandwidth"):
        getattr(lib, name).restype = ctypes.c_double
    return lib


def fma_gflops(threads: int) -> float:
    """Return the float32 multiply-add rate."""
    return float(_library().fma_ceiling(threads, ctypes.c_double(0.3)))


def copy_ms(threads: int, nbytes: int, buffers: int) -> float:
    """Return the milliseconds of the best copy of `nbytes`, plain or streaming, over rotating buffers."""
    n = ctypes.c_int64(-(-nbytes // 64) * 64)
    return min(1e3 * float(_library().copy_seconds(threads, n, kind, 5 * buffers, buffers)) for kind in (0, 1))


def read_gbps(threads: int, nbytes: int) -> float:
    """Return GB/s of reading a footprint again and again."""
    return float(_library().read_bandwidth(threads, ctypes.c_int64(-(-nbytes // 256) * 256), 25)) / 1e9
