"""Building blocks in PyTorch's manner: modules that hold Parameters and call operators."""

from __future__ import annotations

from dinoml.frontend.model import Module, Parameter
from dinoml.nn import functional
from dinoml.nn.activation import GELU, ReLU, Sigmoid, SiLU, Softmax, Tanh
from dinoml.nn.attention import FeedForward, SelfAttention
from dinoml.nn.container import ModuleList, Sequential
from dinoml.nn.image import AvgPool1d, AvgPool2d, Conv2d, MaxPool2d, PixelShuffle, PixelUnshuffle
from dinoml.nn.linear import Dropout, Embedding, Flatten, Identity, Linear, Unflatten
from dinoml.nn.norm import LayerNorm, RMSNorm, T5LayerNorm

__all__ = [
    "GELU",
    "AvgPool1d",
    "AvgPool2d",
    "Conv2d",
    "Dropout",
    "Embedding",
    "FeedForward",
    "Flatten",
    "Identity",
    "LayerNorm",
    "Linear",
    "MaxPool2d",
    "Module",
    "ModuleList",
    "Parameter",
    "PixelShuffle",
    "PixelUnshuffle",
    "RMSNorm",
    "ReLU",
    "SelfAttention",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "T5LayerNorm",
    "Tanh",
    "Unflatten",
    "functional",
]  # fmt: skip
