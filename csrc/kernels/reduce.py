"""Reduction over one coordinate: rows (the last) or columns (the third)."""

import numpy as np

from dinoml.lowering.templates import Candidate, Problem

DIMS = "ReduceDims"
_NUMPY = {"Sum": np.sum, "Prod": np.prod, "Max": np.max, "Min": np.min, "Any": np.any, "All": np.all, "ArgMax": np.argmax, "ArgMin": np.argmin}
SCRATCH = 256 * 1024  # partial results of long reductions; csrc/kernels/cpu/reduce.h


def numpy(ports, dims, params):
    """Return the reduction with its axis kept."""
    (x,) = ports
    axis = 3 if params["form"] == "rows" else 2
    fn = _NUMPY[params["op"]]
    if x.shape[axis] == 0:
        shape = [1 if a == axis else e for a, e in enumerate(x.shape)]
        identity = {"Sum": 0, "Prod": 1, "Any": False, "All": True, "ArgMax": 0, "ArgMin": 0, "Max": _least(x.dtype), "Min": _most(x.dtype)}[
            params["op"]
        ]
        return [np.full(shape, identity)]
    wide = x.astype(np.float64) if x.dtype.kind == "f" else x
    return [fn(wide, axis=axis, keepdims=True)]


def _least(dtype):
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _most(dtype):
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def candidates(problem: Problem) -> list[Candidate]:
    """One template."""
    width = problem.target.vector_bytes // 4
    params = (("width", width), ("form", f"Form::{problem.params['form']}"), ("op", f"type {problem.params['op']}"))
    return [Candidate(f"w{width}", "kernels/cpu/reduce.h", "dml::cpu::reduce", params, scratch=str(SCRATCH))]
