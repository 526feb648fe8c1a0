"""Softmax and log-softmax along one coordinate."""

import numpy as np

from dinoml.codegen.gpu_source import row_candidates
from dinoml.ir import intexpr
from dinoml.lowering.templates import Candidate, Problem, streamed

DIMS = "SoftmaxDims"
SCRATCH = {"rows": "workers * 4 * round_up(d.n3, 64)", "columns": "workers * round_up(4 * d.n2 * softmax_block(d.n2), 64)"}


def numpy(ports, dims, params):
    """Return the result in float64."""
    axis = 3 if params["form"] == "rows" else 2
    x = ports[0].astype(np.float64)
    if x.size == 0:
        return [x]
    with np.errstate(all="ignore"):
        x = x - x.max(axis=axis, keepdims=True)
        e = np.exp(x)
        total = e.sum(axis=axis, keepdims=True)
        return [x - np.log(total) if params["log"] else e / total]


def candidates(problem: Problem) -> list[Candidate]:
    """One template; large results bypass the caches."""
    if problem.target.name != "cpu":
        return gpu_candidates(problem)
    width = problem.target.vector_bytes // 4
    params = (("width", width), ("form", f"Form::{problem.params['form']}"), ("log", problem.params["log"]))
    plain = Candidate(f"w{width}", "kernels/cpu/softmax.h", "dml::cpu::softmax", params, scratch=SCRATCH[problem.params["form"]])
    whole_lines = intexpr.divisor(problem.dims[3]) % 16 == 0  # streaming stores to rows that share cache lines are slow
    return [streamed(plain, intexpr.product(problem.dims)), plain] if whole_lines else [plain]


def gpu_candidates(problem: Problem) -> list[Candidate]:
    """Rows in registers, several shapes; rows and columns of any length by way of scratch."""
    return row_candidates(problem, "softmax", (("log", problem.params["log"]),))
