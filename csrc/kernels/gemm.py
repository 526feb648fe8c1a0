"""GEMM: y[b0, b1, m, n] = sum over k of a[b0, b1, m, k] * b[b0, b1, k, n]."""

import numpy as np

from dinoml.lowering.kernels import PackedOperand
from dinoml.lowering.templates import Candidate, Problem

DIMS = "GemmDims"


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


_TILES = {64: (14, 32), 32: (6, 16), 16: (4, 8)}


def candidates(problem: Problem) -> list[Candidate]:
    """Tiles for many rows, streaming forms for few."""
    rows, columns = _TILES[problem.target.vector_bytes]
    m = problem.dims[2]
    packed = isinstance(problem.port("b"), PackedOperand)
    common = (("MR", rows), ("NR", columns), ("MC", 10 * rows), ("NC", 64 * columns), ("KC", 512))
    kind = f"PackedB<{{}}, {columns}>" if packed else ""

    def one(form: str, conditions: tuple, extra: tuple) -> Candidate:
        return Candidate(form, "kernels/cpu/gemm.h", "dml::cpu::gemm", (("form", f"GemmForm::{form}"), *extra), conditions, "workers * gemm_scratch<P, BPort>(d)", kind)

    return [one("gemv", (1 - m,), common), one("skinny", (16 - m,), common), one("tile", (), common)]
