"""Pointwise: a body on every element of a grid of four coordinates."""

from dinoml.lowering.templates import Candidate, Problem

DIMS = "PointwiseDims"


def candidates(problem: Problem) -> list[Candidate]:
    """One template; vectors are as wide as the target's registers."""
    width = problem.target.vector_bytes // 4
    return [Candidate(f"w{width}u{u}", "kernels/cpu/pointwise.h", "dml::cpu::pointwise", (("width", width), ("unroll", u))) for u in (4, 1)]
