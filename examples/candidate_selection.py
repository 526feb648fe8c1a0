"""Choosing candidates: top-k, gathering their features, and an output whose length is known only at run time."""

from __future__ import annotations

import numpy as np

import dinoml as dml

K = 5


class Select(dml.Module):
    """The K best of many candidates per query, their features, and all scores above a threshold."""

    def __init__(self) -> None:
        self.table = dml.Parameter([50, 16])
        self.threshold = dml.Parameter([])

    def forward(self, query: dml.Tensor, bonus: dml.Tensor) -> dict[str, dml.Tensor]:
        scores = query @ self.table.transpose(0, 1) + bonus
        values, indices = dml.ops.topk(scores, K)
        rows = dml.ops.embedding(self.table, indices)
        weighted = (rows * dml.ops.softmax(values).unsqueeze(-1)).sum(1)
        return {"values": values, "indices": indices, "weighted": weighted, "above": dml.ops.masked_select(scores, scores > self.threshold)}


def constants() -> dict[str, np.ndarray]:
    """Return the candidates' features and the threshold."""
    return {"table": np.random.default_rng(0).standard_normal((50, 16), np.float32), "threshold": np.asarray(4.0, np.float32)}


def build_spec() -> dml.ModelSpec:
    """Return the traced model."""
    batch = dml.Dim("batch", min=1, max=32, typical=8)
    inputs = {"query": dml.TensorSpec([batch, 16]), "bonus": dml.TensorSpec([50])}
    return dml.trace(Select(), inputs=inputs, constants=constants(), name="candidate_selection")


def build_validation_inputs() -> dict[str, np.ndarray]:
    """Return inputs to check an artifact with."""
    rng = np.random.default_rng(1)
    return {"query": rng.standard_normal((7, 16), np.float32), "bonus": rng.standard_normal(50, np.float32)}


def numpy_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs in float64."""
    table = constants()["table"].astype(np.float64)
    scores = inputs["query"].astype(np.float64) @ table.T + inputs["bonus"]
    indices = np.argsort(-scores, axis=-1, kind="stable")[:, :K]
    values = np.take_along_axis(scores, indices, axis=-1)
    weights = np.exp(values - values.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    weighted = np.einsum("bk,bkd->bd", weights, table[indices])
    return {"values": values, "indices": indices, "weighted": weighted, "above": scores[scores > constants()["threshold"]]}


def torch_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs as PyTorch computes them."""
    import torch

    table, threshold = (torch.from_numpy(constants()[k]) for k in ("table", "threshold"))
    scores = torch.from_numpy(inputs["query"]) @ table.T + torch.from_numpy(inputs["bonus"])
    values, indices = torch.topk(scores, K)
    weighted = (table[indices] * torch.softmax(values, -1).unsqueeze(-1)).sum(1)
    outputs = {"values": values, "indices": indices, "weighted": weighted, "above": torch.masked_select(scores, scores > threshold)}
    return {k: v.numpy() for k, v in outputs.items()}
