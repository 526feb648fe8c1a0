"""One linear layer with a dynamic batch: the smallest model that shows the whole way."""

from __future__ import annotations

import numpy as np

import dinoml as dml


class Linear(dml.Module):
    def __init__(self):
        self.weight = dml.Parameter([8, 6], dtype="float32")
        self.bias = dml.Parameter([6], dtype="float32")

    def forward(self, x):
        y = dml.ops.gemm_rrr_bias(x, self.weight, self.bias)
        return dml.ops.output(y, "y")


def constants() -> dict[str, np.ndarray]:
    """Return the weights."""
    rng = np.random.default_rng(0)
    return {"weight": rng.standard_normal((8, 6), np.float32), "bias": rng.standard_normal(6, np.float32)}


def build_spec() -> dml.ModelSpec:
    """Return the traced model."""
    batch = dml.Dim("batch", min=1, max=4, typical=3, buckets=(1, 3, 4))
    return dml.trace(Linear(), inputs={"x": dml.TensorSpec([batch, 8], "float32")}, constants=constants(), name="linear")


def build_validation_inputs() -> dict[str, np.ndarray]:
    """Return inputs to check an artifact with."""
    return {"x": np.random.default_rng(1).standard_normal((3, 8), np.float32)}


def numpy_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs in float64."""
    weight, bias = (constants()[k].astype(np.float64) for k in ("weight", "bias"))
    return {"y": inputs["x"].astype(np.float64) @ weight + bias}


def torch_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs as PyTorch computes them."""
    import torch

    weight, bias = (torch.from_numpy(constants()[k]) for k in ("weight", "bias"))
    return {"y": torch.addmm(bias, torch.from_numpy(inputs["x"]), weight).numpy()}
