"""Functions with PyTorch's names and argument order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dinoml import ops


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """Return x @ weight.T + bias."""
    return ops.linear(x, weight, bias)


def embedding(indices: Any, weight: Any) -> Any:
    """Return the rows of `weight` that `indices` name."""
    return ops.embedding(weight, indices)


def relu(x: Any) -> Any:
    """Return max(x, 0)."""
    return ops.relu(x)


def silu(x: Any) -> Any:
    """Return x * sigmoid(x)."""
    return ops.silu(x)


def gelu(x: Any, approximate: str = "none") -> Any:
    """Return the Gaussian error linear unit, exact unless approximate is "tanh"."""
    return ops.gelu(x, approximation=approximate)


def softmax(x: Any, dim: int = -1) -> Any:
    """Return softmax along an axis."""
    return ops.softmax(x, dim=dim)


def log_softmax(x: Any, dim: int = -1) -> Any:
    """Return log-softmax along an axis."""
    return ops.log_softmax(x, dim=dim)


def layer_norm(x: Any, normalized_shape: int | Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Return layer normalisation over the trailing axes."""
    return ops.layer_norm(x, weight, bias, eps=eps, normalized_shape=normalized_shape)


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-6) -> Any:
    """Return RMS normalisation over the last axis."""
    return ops.rms_norm(x, weight, eps=eps)


def normalize(x: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    """Return x divided by its norm along an axis."""
    return ops.normalize(x, p=p, dim=dim, eps=eps)


def one_hot(x: Any, num_classes: int) -> Any:
    """Return 1 at the position that x names, else 0."""
    return ops.one_hot(x, num_classes)


def pad(x: Any, pad: Sequence[Any], mode: str = "constant", value: float = 0.0) -> Any:
    """Return x surrounded by a constant; raise ValueError for other modes."""
    if mode != "constant":
        raise ValueError(f"pad: mode={mode!r} is not available; constant is")
    return ops.pad(x, pad, value)


def conv2d(x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Any:
    """Return the 2-D convolution of [N, C, H, W]."""
    return ops.conv2d(x, weight, bias, stride, padding, dilation, groups)


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
    """Return the largest element of each window."""
    return ops.max_pool2d(x, kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Any:
    """Return the mean of each window."""
    return ops.avg_pool2d(x, kernel_size, stride, padding, ceil_mode, count_include_pad)


def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Return [N, C*r*r, H, W] as [N, C, H*r, W*r]."""
    return ops.pixel_shuffle(x, upscale_factor)


def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """Return [N, C, H*r, W*r] as [N, C*r*r, H, W]."""
    return ops.pixel_unshuffle(x, downscale_factor)


def dropout(x: Any, p: float = 0.5, training: bool = False) -> Any:
    """Return x; raise ValueError when asked to drop something."""
    if training:
        raise ValueError("dropout: models are compiled for inference, training=True is not available")
    return x


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Return attention over [B, H, S, D]; raise ValueError for dropout."""
    if dropout_p:
        raise ValueError(f"scaled_dot_product_attention: dropout_p={dropout_p} is not available at inference")
    return ops.scaled_dot_product_attention(query, key, value, attn_mask, causal=is_causal, scale=scale, enable_gqa=enable_gqa)
