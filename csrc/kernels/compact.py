"""Compaction: the elements under a mask, in order, and how many there are."""

import numpy as np

from dinoml.lowering.templates import Candidate, Problem

DIMS = "CompactDims"


def numpy(ports, dims, params):
    """Return the selected values, filled up with zeros, and their number."""
    x, mask = (p.reshape(-1) for p in ports)
    chosen = x[mask.astype(bool)]
    out = np.zeros((1, 1, 1, x.size), x.dtype)
    out[0, 0, 0, : chosen.size] = chosen
    return [out, np.full((1, 1, 1, 1), chosen.size, np.int64)]


def candidates(problem: Problem) -> list[Candidate]:
    """One template."""
    return [Candidate("serial", "kernels/cpu/compact.h", "dml::cpu::compact")]
