"""Normalisation along one coordinate: standard score, root mean square, Euclidean length."""

import numpy as np

from dinoml.codegen.gpu_source import row_candidates
from dinoml.ir import intexpr
from dinoml.lowering.templates import Candidate, Problem, streamed

DIMS = "NormDims"
SCRATCH = {"rows": "workers * 4 * round_up(d.n3, 64)", "columns": "workers * round_up(4 * d.n2 * norm_block(d.n2), 64)"}


def numpy(ports, dims, params):
    """Return the result in float64."""
    axis = 3 if params["form"] == "rows" else 2
    x = ports[0].astype(np.float64)
    eps = params["eps"]
    with np.errstate(all="ignore"):
        if params["kind"] == "standard":
            x = x - x.mean(axis=axis, keepdims=True) if x.size else x
            return [x / np.sqrt((x * x).mean(axis=axis, keepdims=True) + eps) if x.size else x]
        if params["kind"] == "rms":
            return [x / np.sqrt((x * x).mean(axis=axis, keepdims=True) + eps) if x.size else x]
        return [x / np.maximum(np.sqrt((x * x).sum(axis=axis, keepdims=True)), eps)]


def candidates(problem: Problem) -> list[Candidate]:
    """One template; large results bypass the caches."""
    if problem.target.name != "cpu":
        return gpu_candidates(problem)
    width = problem.target.vector_bytes // 4
    params = (("width", width), ("form", f"Form::{problem.params['form']}"), ("kind", f"Norm::{problem.params['kind']}"))
    plain = Candidate(f"w{width}", "kernels/cpu/norm.h", "dml::cpu::norm", params, scratch=SCRATCH[problem.params["form"]])
    whole_lines = intexpr.divisor(problem.dims[3]) % 16 == 0  # streaming stores to rows that share cache lines are slow
    return [streamed(plain, intexpr.product(problem.dims)), plain] if whole_lines else [plain]


def gpu_candidates(problem: Problem) -> list[Candidate]:
    """Rows in registers, several shapes; rows and columns of any length by way of scratch."""
    return row_candidates(problem, "norm", (("kind", f"Norm::{problem.params['kind']}"),))
