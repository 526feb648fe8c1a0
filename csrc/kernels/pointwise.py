"""Pointwise: a body on every element of a grid of four coordinates."""

from dinoml.codegen.gpu_source import tail, threads_along, vector_width
from dinoml.codegen.integers import depends
from dinoml.ir import expr as ex
from dinoml.ir import intexpr
from dinoml.lowering.templates import Candidate, Problem, streamed

DIMS = "PointwiseDims"
DIM_NAMES = ("n0", "n1", "n2", "n3")


def _one(width: int, rows: int, unroll: int) -> Candidate:
    params = (("width", width), ("rows", rows), ("unroll", unroll))
    return Candidate(f"w{width}r{rows}u{unroll}", "kernels/cpu/pointwise.h", "dml::cpu::pointwise", params)


def _shared(problem: Problem) -> bool:
    """Whether an operand that is read along the columns is the same for all rows."""
    reads = [r for e in problem.kernel.ports[0].exprs for r in ex.reads(e)]
    return any(depends(r.index[0], "c3") and not depends(r.index[0], "c2") for r in reads) and problem.dims[2] != 1


def candidates(problem: Problem) -> list[Candidate]:
    """Shapes of one fetch; operands that all rows share are read for four rows at once."""
    if problem.target.name != "cpu":
        return gpu_candidates(problem)
    width = problem.target.vector_bytes // 4
    shapes = [(4, 1), (1, 4), (1, 2), (1, 1)] if _shared(problem) else [(1, 4), (1, 2), (4, 1), (1, 1)]
    listed = [_one(width, r, u) for r, u in shapes]
    return [streamed(listed[0], intexpr.product(problem.dims)), *listed]


def gpu_candidates(problem: Problem) -> list[Candidate]:
    """Shapes of a thread's fetch: rows first where they share operands, otherwise vectors of one row."""
    *_, n2, n3 = problem.dims
    width = vector_width(problem.kernel.ports)
    shapes = [(128, 2, 2), (128, 4, 1), (64, 8, 1), (256, 4, 1)] if _shared(problem) else [(128, 1, 4), (256, 1, 2), (256, 1, 1)]
    out: list[Candidate] = []
    for threads, rows, unroll in shapes:
        columns = threads_along(n3, width, threads)
        end = tail(n3, width, width * columns * unroll)
        if intexpr.divisor(n2) % (rows * threads // columns) and end == "exact":
            end = "whole"
        params = (("width", width), ("unroll", unroll), ("rows", rows), ("columns", columns), ("threads", threads), ("tail", f"Tail::{end}"))
        out.append(Candidate(f"t{threads}w{width}r{rows}u{unroll}", "kernels/gpu/pointwise.h", "dml::gpu::pointwise", params))
    # Where a row does not fill whole blocks, several vectors of it cost more than they bring.
    return sorted(out, key=lambda c: dict(c.params)["tail"] != "Tail::exact" and dict(c.params)["unroll"] > 1)
