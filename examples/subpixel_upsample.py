"""Sub-pixel upsampling: a convolution and a pixel shuffle, which becomes an index map of the convolution's store."""

from __future__ import annotations

import numpy as np

import dinoml as dml
from dinoml import nn

FACTOR = 3


class Upsample(dml.Module):
    """Twelve features to an image three times as large, limited to 0..1."""

    def __init__(self) -> None:
        self.expand = nn.Conv2d(12, 3 * FACTOR**2, 3, padding=1)
        self.shuffle = nn.PixelShuffle(FACTOR)

    def forward(self, features: dml.Tensor) -> dict[str, dml.Tensor]:
        return {"image": dml.ops.clamp(self.shuffle(self.expand(features)), 0.0, 1.0)}


def constants() -> dict[str, np.ndarray]:
    """Return the weights."""
    rng = np.random.default_rng(0)
    return {name: (rng.standard_normal(p.shape, np.float32) * 0.1).astype(np.float32) for name, p in Upsample().named_parameters()}


def build_spec() -> dml.ModelSpec:
    """Return the traced model."""
    batch = dml.Dim("batch", min=1, max=4)
    height, width = dml.Dim("height", min=4, max=64, typical=24), dml.Dim("width", min=4, max=64, typical=24)
    features = dml.TensorSpec([batch, 12, height, width])
    return dml.trace(Upsample(), inputs={"features": features}, constants=constants(), name="subpixel_upsample")


def build_validation_inputs() -> dict[str, np.ndarray]:
    """Return inputs to check an artifact with."""
    return {"features": np.random.default_rng(1).standard_normal((2, 12, 11, 9), np.float32)}


def numpy_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs in float64."""
    c = {k: v.astype(np.float64) for k, v in constants().items()}
    padded = np.pad(inputs["features"].astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    y = np.einsum("nchwij,ocij->nohw", windows, c["expand.weight"]) + c["expand.bias"][:, None, None]
    n, _, h, w = y.shape
    y = y.reshape(n, 3, FACTOR, FACTOR, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, 3, h * FACTOR, w * FACTOR)
    return {"image": np.clip(y, 0.0, 1.0)}


def torch_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs as PyTorch computes them."""
    import torch
    import torch.nn.functional as F

    c = {k: torch.from_numpy(v) for k, v in constants().items()}
    y = F.conv2d(torch.from_numpy(inputs["features"]), c["expand.weight"], c["expand.bias"], padding=1)
    return {"image": F.pixel_shuffle(y, FACTOR).clamp(0.0, 1.0).numpy()}
