"""GEMM: y[b0, b1, m, n] = sum over k of a[b0, b1, m, k] * b[b0, b1, k, n]."""

from dataclasses import replace

import numpy as np

from dinoml.codegen.gpu_source import operand_access, tail, vector_width
from dinoml.ir import intexpr
from dinoml.lowering.kernels import PackedOperand
from dinoml.lowering.templates import Candidate, Problem

DIMS = "GemmDims"
DIM_NAMES = ("b0", "b1", "m", "n", "k")


def _unpack(packed, strides, dims):
    b0, b1, _, n, k = dims
    width = packed.shape[-1]
    panels = -(-n // width)
    flat = packed.reshape(-1)
    out = np.empty((b0, b1, k, n), np.float64)
    for i in range(b0):
        for j in range(b1):
            at = i * strides[0] + j * strides[1]
            block = flat[at : at + panels * k * width].reshape(panels, k, width)
            out[i, j] = block.transpose(1, 0, 2).reshape(k, panels * width)[:, :n]
    return out


def numpy(ports, dims, params):
    """Return the product in float64."""
    a, b = ports
    right = _unpack(b[0], b[1], dims) if isinstance(b, tuple) else b.astype(np.float64)
    return [np.matmul(a.astype(np.float64), right)]


_TILES = {64: (12, 32), 32: (6, 16), 16: (4, 8)}  # rows and columns of a register tile by register bytes


def candidates(problem: Problem) -> list[Candidate]:
    """Tiles for many rows, streaming forms for few. `deep` takes long sums in one piece, where a plan finds that faster."""
    if problem.target.name != "cpu":
        return gpu_candidates(problem)
    rows, columns = _TILES[problem.target.vector_bytes]
    *_, m, _, k = problem.dims
    packed = isinstance(problem.port("b"), PackedOperand)
    # A packed right operand streams from memory once; one that is packed on the way should be packed for many rows at once.
    common = {"MR": rows, "NR": columns, "MC": 96, "NC": 512, "KC": 1024} if packed else {"MR": rows, "NR": columns, "MC": 384, "NC": 512, "KC": 256}
    kind = f"PackedB<{{}}, {columns}>" if packed else ""

    def one(form: str, conditions: tuple, extra: dict[str, int]) -> Candidate:
        params = (("form", f"GemmForm::{form}"), *extra.items())
        return Candidate(form, "kernels/cpu/gemm.h", "dml::cpu::gemm", params, conditions, "workers * gemm_scratch<P, BPort>(d)", kind)

    deep = replace(one("tile", (k - common["KC"] - 1,), common | {"MC": 48, "KC": 2048}), name="deep")
    tile = one("tile", (), common)
    skinny = one("skinny", (32 - m,), common | {"MC": 48, "KC": 1024})
    return [one("gemv", (1 - m,), common), skinny, tile, deep, tile]


GPU_FILLED = 256  # large tiles from which a device is busy
GPU_PANEL = 8  # columns of a packed panel: operators/matmul/gemm/lower.py for targets with 16-byte accesses


def gpu_candidates(problem: Problem) -> list[Candidate]:
    """Square tiles: large ones where there are enough of them to fill a device."""
    b0, b1, m, n, k = problem.dims
    a_width, a_inner = operand_access(problem.port("a"))
    b_width, b_inner = operand_access(problem.port("b"), GPU_PANEL)
    y_width = min(4, vector_width((problem.port("y"),)))
    common: tuple = ()
    for name, width, along in (("a", a_width, k if a_inner else m), ("b", b_width, n if b_inner else k), ("y", y_width, n)):
        common += ((f"{name}_width", width), (f"{name}_tail", f"Tail::{tail(along, width, 0)}"))
    common += (("a_inner", a_inner), ("b_inner", b_inner))
    kind = f"PackedB<{{}}, {GPU_PANEL}>" if isinstance(problem.port("b"), PackedOperand) else ""

    def one(side: int, each: int, conditions: tuple) -> Candidate:
        tile = (("BM", side), ("BN", side), ("BK", 16), ("TM", each), ("TN", each), ("threads", (side // each) ** 2))
        return Candidate(f"tile{side}", "kernels/gpu/gemm.h", "dml::gpu::gemm", (*tile, *common), conditions, packed=kind)

    if min(a_width, b_width) < 4:  # a large tile would hold so many addresses that it spills
        return [one(64, 4, ())]
    return [one(128, 8, (intexpr.add(intexpr.product((b0, b1, m, n)), -GPU_FILLED * 128 * 128),)), one(64, 4, ())]
