"""The k largest or smallest of each row, sorted, ties by lower position."""

import numpy as np

from dinoml.lowering.templates import Candidate, Problem

DIMS = "TopkDims"


def numpy(ports, dims, params):
    """Return values and int64 positions."""
    (x,) = ports
    k = int(params["k"])
    keyed = x.astype(np.float64) if x.dtype.kind == "f" else x.astype(object) if x.dtype == np.int64 else x.astype(np.int64)
    if x.dtype.kind == "f":  # NaN counts as the greatest
        nan = np.isnan(keyed)
        order = np.lexsort(
            (
                np.broadcast_to(np.arange(x.shape[3]), x.shape),
                np.where(nan, 0, -keyed if params["largest"] else keyed),
                ~nan if params["largest"] else nan,
            ),
            axis=3,
        )
    else:
        order = np.argsort(-keyed if params["largest"] else keyed, axis=3, kind="stable")
    order = order[..., :k]
    return [np.take_along_axis(x, order, axis=3), order.astype(np.int64)]


def candidates(problem: Problem) -> list[Candidate]:
    """One template."""
    width = problem.target.vector_bytes // 4
    params = (("width", width), ("largest", problem.params["largest"]))
    return [Candidate(f"w{width}", "kernels/cpu/topk.h", "dml::cpu::topk", params, scratch="workers * round_up(24 * d.k, 64)")]
