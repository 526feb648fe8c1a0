"""A small convolutional network: convolutions with bias and ReLU, max and average pooling, a linear head."""

from __future__ import annotations

import numpy as np

import dinoml as dml
from dinoml import nn


class Classifier(dml.Module):
    """Two stages and a head; image and batch extents are dynamic."""

    def __init__(self) -> None:
        self.first = nn.Conv2d(3, 16, 3, padding=1, activation="relu")
        self.second = nn.Conv2d(16, 32, 3, stride=2, padding=1, activation="relu")
        self.shrink = nn.MaxPool2d(3, stride=2, padding=1)
        self.smooth = nn.AvgPool2d(2)
        self.head = nn.Linear(32, 10)

    def forward(self, image: dml.Tensor) -> dict[str, dml.Tensor]:
        features = self.smooth(self.second(self.shrink(self.first(image))))
        pooled = features.mean([2, 3])
        return {"features": features, "log_probabilities": dml.ops.log_softmax(self.head(pooled))}


def constants() -> dict[str, np.ndarray]:
    """Return the weights."""
    rng = np.random.default_rng(0)
    return {name: (rng.standard_normal(p.shape, np.float32) * 0.2).astype(np.float32) for name, p in Classifier().named_parameters()}


def build_spec() -> dml.ModelSpec:
    """Return the traced model."""
    batch = dml.Dim("batch", min=1, max=8, typical=2, buckets=(1, 2, 8))
    height, width = dml.Dim("height", min=16, max=96, typical=32), dml.Dim("width", min=16, max=96, typical=32)
    image = dml.TensorSpec([batch, 3, height, width])
    return dml.trace(Classifier(), inputs={"image": image}, constants=constants(), name="image_pooling")


def build_validation_inputs() -> dict[str, np.ndarray]:
    """Return inputs to check an artifact with."""
    return {"image": np.random.default_rng(1).standard_normal((2, 3, 33, 30), np.float32)}


def _convolve(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, stride: int) -> np.ndarray:
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    return np.maximum(np.einsum("nchwij,ocij->nohw", windows, weight) + bias[:, None, None], 0.0)


def numpy_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs in float64."""
    c = {k: v.astype(np.float64) for k, v in constants().items()}
    x = _convolve(inputs["image"].astype(np.float64), c["first.weight"], c["first.bias"], 1)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    x = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2].max((4, 5))
    x = _convolve(x, c["second.weight"], c["second.bias"], 2)
    x = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3))[:, :, ::2, ::2].mean((4, 5))
    logits = x.mean((2, 3)) @ c["head.weight"].T + c["head.bias"]
    shifted = logits - logits.max(-1, keepdims=True)
    return {"features": x, "log_probabilities": shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))}


def torch_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs as PyTorch computes them."""
    import torch
    import torch.nn.functional as F

    c = {k: torch.from_numpy(v) for k, v in constants().items()}
    x = F.relu(F.conv2d(torch.from_numpy(inputs["image"]), c["first.weight"], c["first.bias"], padding=1))
    x = F.relu(F.conv2d(F.max_pool2d(x, 3, 2, 1), c["second.weight"], c["second.bias"], stride=2, padding=1))
    x = F.avg_pool2d(x, 2)
    y = F.log_softmax(F.linear(x.mean((2, 3)), c["head.weight"], c["head.bias"]), dim=-1)
    return {"features": x.numpy(), "log_probabilities": y.numpy()}
