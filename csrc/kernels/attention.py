"""Attention without a matrix of scores: y = softmax(score(scale * q k^T)) v."""

import numpy as np

from dinoml.lowering.templates import Candidate, Problem

DIMS = "AttentionDims"
DIM_NAMES = ("b", "h", "q", "k", "d", "dv", "group")


def numpy(ports, dims, params):
    """Return the result in float64."""
    q, k, v, score = ports
    *_, keys, _, _, group = dims
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    s = np.matmul(q.astype(np.float64), np.swapaxes(k.astype(np.float64), 2, 3)) * params["scale"]
    s = np.asarray(score(s), np.float64)
    if params["causal"]:
        rows, columns = np.arange(s.shape[2])[:, None], np.arange(s.shape[3])[None]
        s = np.where(columns <= rows + params["causal_offset"], s, -np.inf)
    if keys == 0:
        return [np.zeros((*q.shape[:3], v.shape[3]))]
    with np.errstate(all="ignore"):
        top = s.max(axis=3, keepdims=True)
        e = np.exp(s - np.where(np.isneginf(top), 0.0, top))
        total = e.sum(axis=3, keepdims=True)
        return [np.matmul(e / np.where(total == 0, 1.0, total), v.astype(np.float64))]


_TILES = {64: (12, 32), 32: (6, 16), 16: (4, 8)}  # rows and columns of a register tile by register bytes


def candidates(problem: Problem) -> list[Candidate]:
    """Blocks of query rows: large ones pack keys and values less often, small ones make work for many workers."""
    rows, columns = _TILES[problem.target.vector_bytes]
    scratch = "attention_scratch<P>(d).shared + workers * attention_scratch<P>(d).each"

    def one(row_tiles: int, key_tiles: int) -> Candidate:
        params = (("MR", rows), ("NR", columns), ("BQ", row_tiles * rows), ("BK", key_tiles * columns), ("causal", problem.params["causal"]))
        return Candidate(f"q{row_tiles * rows}k{key_tiles * columns}", "kernels/cpu/attention.h", "dml::cpu::attention", params, scratch=scratch)

    return [one(16, 16), one(8, 8), one(4, 8)]
