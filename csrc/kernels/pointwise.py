"""Pointwise: a body on every element of a grid of four coordinates."""

from dinoml.codegen.integers import depends
from dinoml.ir import expr as ex
from dinoml.lowering.templates import Candidate, Problem

DIMS = "PointwiseDims"


def _one(width: int, rows: int, unroll: int) -> Candidate:
    params = (("width", width), ("rows", rows), ("unroll", unroll))
    return Candidate(f"w{width}r{rows}u{unroll}", "kernels/cpu/pointwise.h", "dml::cpu::pointwise", params)


def candidates(problem: Problem) -> list[Candidate]:
    """Shapes of one fetch; operands that all rows share are read for four rows at once."""
    width = problem.target.vector_bytes // 4
    reads = [r for e in problem.kernel.ports[0].exprs for r in ex.reads(e)]
    shared = any(depends(r.index[0], "c3") and not depends(r.index[0], "c2") for r in reads) and problem.dims[2] != 1
    shapes = [(4, 1), (1, 4), (1, 2), (1, 1)] if shared else [(1, 4), (1, 2), (4, 1), (1, 1)]
    return [_one(width, r, u) for r, u in shapes]
