"""A chain of elementwise operators with broadcasting and two outputs: one kernel after fusion."""

from __future__ import annotations

import numpy as np

import dinoml as dml


class Gate(dml.Module):
    """Scale, shift, exact GELU, a gate, and the mask that was used."""

    def __init__(self) -> None:
        self.scale = dml.Parameter([96])
        self.shift = dml.Parameter([96])

    def forward(self, x: dml.Tensor, gate: dml.Tensor) -> dict[str, dml.Tensor]:
        h = dml.ops.gelu(x * self.scale + self.shift, approximation="none")
        keep = gate > 0
        y = dml.ops.where(keep, h * dml.ops.sigmoid(gate), 0.0) + 0.5 * x
        return {"y": y, "keep": keep}


def constants() -> dict[str, np.ndarray]:
    """Return scale and shift."""
    rng = np.random.default_rng(0)
    return {"scale": rng.uniform(0.5, 1.5, 96).astype(np.float32), "shift": rng.standard_normal(96, np.float32)}


def build_spec() -> dml.ModelSpec:
    """Return the traced model."""
    rows = dml.Dim("rows", min=1, max=512, typical=64, buckets=(1, 64, 512))
    spec = dml.TensorSpec([rows, 96])
    return dml.trace(Gate(), inputs={"x": spec, "gate": spec}, constants=constants(), name="fused_elementwise")


def build_validation_inputs() -> dict[str, np.ndarray]:
    """Return inputs to check an artifact with."""
    rng = np.random.default_rng(1)
    return {"x": rng.standard_normal((37, 96), np.float32), "gate": rng.standard_normal((37, 96), np.float32)}


def numpy_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs in float64."""
    import math

    x, gate = (inputs[k].astype(np.float64) for k in ("x", "gate"))
    z = x * constants()["scale"] + constants()["shift"]
    h = z * 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    return {"y": np.where(gate > 0, h / (1 + np.exp(-gate)), 0.0) + 0.5 * x, "keep": gate > 0}


def torch_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs as PyTorch computes them."""
    import torch

    x, gate = (torch.from_numpy(inputs[k]) for k in ("x", "gate"))
    scale, shift = (torch.from_numpy(constants()[k]) for k in ("scale", "shift"))
    h = torch.nn.functional.gelu(x * scale + shift)
    y = torch.where(gate > 0, h * torch.sigmoid(gate), 0.0) + 0.5 * x
    return {"y": y.numpy(), "keep": (gate > 0).numpy()}
