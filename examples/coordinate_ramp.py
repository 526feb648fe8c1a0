"""Coordinates made inside the model: ramps, grids and masks whose extents follow the input's Dims."""

from __future__ import annotations

import numpy as np

import dinoml as dml


class Ramp(dml.Module):
    """Adds a radial ramp to an image and returns which pixels lie below its diagonal."""

    def forward(self, image: dml.Tensor) -> dict[str, dml.Tensor]:
        _, height, width = image.shape
        rows = dml.ops.arange(height, dtype="float32") / dml.ops.extent(height, dtype="float32")
        columns = dml.ops.arange(width, dtype="float32") / dml.ops.extent(width, dtype="float32")
        y, x = dml.ops.meshgrid(rows, columns)
        radius = dml.ops.sqrt(dml.ops.square(y - 0.5) + dml.ops.square(x - 0.5))
        below = dml.ops.arange(height, dtype="int64").unsqueeze(1) > dml.ops.arange(width, dtype="int64")
        return {"image": image + radius, "below": below, "flipped": dml.ops.flip(image, [2])}


def build_spec() -> dml.ModelSpec:
    """Return the traced model."""
    batch, height, width = dml.Dim("batch", min=1, max=4), dml.Dim("height", min=2, max=64), dml.Dim("width", min=2, max=64)
    return dml.trace(Ramp(), inputs={"image": dml.TensorSpec([batch, height, width])}, name="coordinate_ramp")


def build_validation_inputs() -> dict[str, np.ndarray]:
    """Return inputs to check an artifact with."""
    return {"image": np.random.default_rng(1).standard_normal((2, 17, 23), np.float32)}


def numpy_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs in float64."""
    image = inputs["image"].astype(np.float64)
    _, h, w = image.shape
    y, x = np.meshgrid(np.arange(h) / h, np.arange(w) / w, indexing="ij")
    below = np.arange(h)[:, None] > np.arange(w)
    return {"image": image + np.hypot(y - 0.5, x - 0.5), "below": below, "flipped": image[:, :, ::-1]}


def torch_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs as PyTorch computes them."""
    import torch

    image = torch.from_numpy(inputs["image"])
    _, h, w = image.shape
    y, x = torch.meshgrid(torch.arange(h) / h, torch.arange(w) / w, indexing="ij")
    below = torch.arange(h).unsqueeze(1) > torch.arange(w)
    radius = torch.sqrt((y - 0.5) ** 2 + (x - 0.5) ** 2)
    return {"image": (image + radius).numpy(), "below": below.numpy(), "flipped": image.flip(2).numpy()}
