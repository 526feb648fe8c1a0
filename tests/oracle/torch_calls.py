"""What PyTorch says about every operator: one callable for each name.

A callable takes the operator's inputs in order (float64, integer or bool tensors; None where an optional one is absent; a list for
a variadic one) and the attributes by name, as a user writes them: nothing is canonical, defaults are filled in. It returns the
result, or a tuple. Where PyTorch has no such function, it is written in PyTorch's terms from the operator's summary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

DTYPES = {"float32": torch.float64, "float16": torch.float64, "bfloat16": torch.float64}
DTYPES |= {"int32": torch.int32, "int64": torch.int64, "bool": torch.bool}
STORED = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "": lambda y: y,
    "relu": torch.relu,
    "gelu": lambda y: F.gelu(y, approximate="tanh"),
    "fast_gelu": lambda y: 0.5 * y * (1 + torch.tanh(0.7978845608 * (y + 0.044715 * y.pow(3)))),
    "quick_gelu": lambda y: y * torch.sigmoid(1.702 * y),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": F.silu,
    "swish": F.silu,
    "hardswish": F.hardswish,
    "elup1": lambda y: F.elu(y) + 1,
}
EPILOGUES: dict[str, Callable[..., Tensor]] = {
    "add": lambda y, d0, d1: y + d0,
    "add_add": lambda y, d0, d1: y + d0 + d1,
    "add_relu": lambda y, d0, d1: F.relu(y + d0),
    "add_add_relu": lambda y, d0, d1: F.relu(y + d0 + d1),
    "mul": lambda y, d0, d1: torch.mul(y, d0),
    "mul_add": lambda y, d0, d1: torch.addcmul(d1, y, d0),
    "mul_tanh": lambda y, d0, d1: torch.tanh(y * d0),
    "sigmoid_mul": lambda y, d0, d1: torch.sigmoid(y) * d0,
    "sigmoid_mul_tanh": lambda y, d0, d1: torch.tanh(torch.sigmoid(y) * d0),
}


def plus(y: Tensor, *more: Tensor | None) -> Tensor:
    """Return the sum of those that are there."""
    for d in more:
        y = y if d is None else y + d
    return y


def axes(x: Tensor, dim: Any) -> tuple[int, ...]:
    """Return the axes that an attribute means: one, several, or all."""
    return tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)


def sdpa(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """Return PyTorch's attention; a mask and `causal` together, which it refuses, become one mask."""
    if mask is not None and causal:
        seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        mask = mask & seen if mask.dtype == torch.bool else mask + torch.zeros_like(mask).masked_fill(~seen, -math.inf)
        causal = False
    return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=enable_gqa)


def flash_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, causal: bool) -> Tensor:
    """Return attention over [B, S, H, D]."""
    return sdpa(*(t.transpose(1, 2) for t in (q, k, v)), bias, causal, enable_gqa=True).transpose(1, 2)


def rounded(x: Tensor, dtype: str) -> Tensor:
    """Return x converted to a dtype, floats widened again."""
    return x.to(STORED[dtype]).to(torch.float64) if dtype in STORED else x.to(DTYPES[dtype])


def floor_div(x0: Tensor, x1: Tensor) -> Tensor:
    """Return the floor of the quotient, which for floats is a float32 number."""
    if x0.is_floating_point():
        return torch.floor(x0.float() / x1.float()).double()
    return torch.div(x0, x1.masked_fill(x1 == 0, 1), rounding_mode="floor").masked_fill(x1 == 0, 0)


def remainder(x0: Tensor, x1: Tensor) -> Tensor:
    """Return the remainder with the sign of x1; PyTorch refuses integers where x1 is 0."""
    if x0.is_floating_point():
        return torch.remainder(x0, x1)
    return torch.remainder(x0, x1.masked_fill(x1 == 0, 1)).masked_fill(x1 == 0, 0)


def batched(a: Tensor, b: Tensor, d0: Tensor | None, layout: str) -> Tensor:
    """Return a batched product in layouts given as letters."""
    left, right = (t.mT if letter == "c" else t for t, letter in zip((a, b), layout))
    y = left @ right
    return plus(y.mT if layout[2] == "c" else y, d0)


def gemm_epilogue(a: Tensor, b: Tensor, bias: Tensor | None, d0: Tensor | None, d1: Tensor | None, b_layout: str, epilogue: str) -> Tensor:
    """Return the product with what the epilogue names."""
    y = F.linear(a, b if b_layout == "c" else b.mT, bias)
    return EPILOGUES[epilogue](y, d0, d1) if epilogue in EPILOGUES else ACTIVATIONS[epilogue](y)


def layer_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, normalized_shape: Any = None) -> Tensor:
    """Return PyTorch's layer_norm over the given axes, else those of weight or bias, else the last."""
    affine = weight if weight is not None else bias
    shape = normalized_shape or (affine.shape if affine is not None else x.shape[-1:])
    return F.layer_norm(x, tuple(shape), weight, bias, eps)


def group_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, num_groups: int, eps: float, channels_first: bool, activation: str) -> Tensor:
    """Return PyTorch's group_norm with the channels where they are."""
    y = F.group_norm(x if channels_first else x.movedim(-1, 1), num_groups, weight, bias, eps)
    return ACTIVATIONS[activation](y if channels_first else y.movedim(1, -1))


def standardize(x: Tensor, dim: Any, eps: float) -> Tensor:
    """Return x without mean and with variance 1."""
    if x.numel() == 0:
        return x
    variance, mean = torch.var_mean(x, axes(x, dim), correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + eps)


def timestep_embedding(
    timesteps: Tensor, embedding_dim: int, flip_sin_to_cos: bool, downscale_freq_shift: float, scale: float, max_period: float
) -> Tensor:
    """Return what Diffusers' function does, step by step."""
    half = embedding_dim // 2
    exponent = -math.log(max_period) * torch.arange(half, dtype=torch.float64) / (half - downscale_freq_shift)
    angles = scale * torch.outer(timesteps.double(), torch.exp(exponent))
    y = torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)
    y = torch.cat([y[:, half:], y[:, :half]], dim=-1) if flip_sin_to_cos else y
    return F.pad(y, (0, embedding_dim % 2))


def position(find: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return argmax or argmin, which PyTorch lacks for bools."""
    return lambda x, dim, keepdim: find(x.byte() if x.dtype == torch.bool else x, dim, keepdim)


def prod(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Return the product over several axes, of which PyTorch takes one at a time."""
    for d in sorted((d % x.ndim for d in axes(x, dim)), reverse=True):
        x = torch.prod(x, d, keepdim=keepdim, dtype=x.dtype)
    return x


def topk(x: Tensor, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Tensor, Tensor]:
    """Return PyTorch's values, and the positions of a stable sort: those of topk leave the order of ties open."""
    values = torch.topk(x, k, dim, largest, True).values
    ordered, order = torch.sort(x, dim=dim, descending=largest, stable=True)
    assert torch.equal(values.nan_to_num(7e7), ordered.narrow(dim, 0, k).nan_to_num(7e7))
    return values, order.narrow(dim, 0, k)


def reshape(x: Tensor, shape: Any) -> Tensor:
    """Return x in another shape; beside an extent of 0 PyTorch does not guess what -1 is, so a tensor with one element there is asked."""
    if 0 in x.shape and 0 in shape and -1 in shape:
        full = torch.empty([d or 1 for d in x.shape]).reshape([d or 1 for d in shape])
        shape = [0 if d == 0 else n for d, n in zip(shape, full.shape)]
    return torch.reshape(x, tuple(shape))


def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    """Return what PyTorch does, except that it gives an empty batch back as it is."""
    if x.shape[0] == 0:
        return F.pixel_unshuffle(x.new_empty(1, *x.shape[1:]), downscale_factor)[:0]
    return F.pixel_unshuffle(x, downscale_factor)


def sign(x: Tensor) -> Tensor:
    """Return the sign; that of NaN is NaN as in NumPy, where PyTorch gives 0."""
    return torch.where(x.isnan(), x, torch.sign(x))


def block(x: Tensor, start: Any, sizes: Any) -> Tensor:
    """Return the part of x that begins at `start`, as a view."""
    for d, (first, n) in enumerate(zip(start, sizes, strict=True)):
        x = x.narrow(d, first, n)
    return x


def scattered(x: Tensor, update: Tensor, start: Any) -> Tensor:
    """Return a copy of x with a block overwritten."""
    y = x.clone()
    block(y, start, update.shape).copy_(update)
    return y


def sliced(x: Tensor, start: Any, stop: Any, step: Any) -> Tensor:
    """Return a slice; PyTorch has no negative steps, so the positions are listed."""
    for d, (a, b) in enumerate(zip(start, stop, strict=True)):
        x = x.index_select(d, torch.tensor(list(range(a, b, 1 if step is None else step[d])), dtype=torch.int64))
    return x


def batch_gather(x: Tensor, indices: Tensor) -> Tensor:
    """Return x[b, indices[b, m]]."""
    index = indices.long().reshape(*indices.shape, *[1] * (x.ndim - 2))
    return x.gather(1, index.expand(*indices.shape, *x.shape[2:]))


def arange(start: Any, end: Any, step: Any, dtype: str) -> Tensor:
    """Return PyTorch's arange with one bound or two."""
    return torch.arange(*((start,) if end is None else (start, end, step)), dtype=DTYPES[dtype])


def like(x: Tensor, dtype: str | None) -> torch.dtype:
    """Return the given dtype, or that of x."""
    return x.dtype if dtype is None else DTYPES[dtype]


UNARY: dict[str, Callable[..., Tensor]] = {
    name: getattr(torch, name)
    for name in (
        "abs", "bitwise_not", "ceil", "cos", "erf", "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log1p", "log2",
        "logical_not", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sin", "sqrt", "square", "tanh", "trunc",
    )
}  # fmt: skip
BINARY: dict[str, Callable[..., Tensor]] = {
    name: getattr(torch, name)
    for name in (
        "add", "bitwise_and", "bitwise_or", "bitwise_xor", "div", "eq", "fmod", "ge", "gt", "le", "logical_and", "logical_or", "logical_xor",
        "lt", "mul", "ne", "outer", "pow", "sub", "where", "masked_fill", "masked_select", "matmul",
    )
}  # fmt: skip
ELEMENTWISE: dict[str, Callable[..., Tensor]] = {
    "cast": rounded,
    "celu": F.celu,
    "clamp": lambda x, low, high: torch.clamp(x, low, high),
    "clamp_nan_to_num": lambda x, clamp_min, clamp_max, nan_replacement: torch.where(x.isnan(), nan_replacement, x.clamp(clamp_min, clamp_max)),
    "elu": F.elu,
    "elup1": ACTIVATIONS["elup1"],
    "fast_gelu": ACTIVATIONS["fast_gelu"],
    "floor_div": floor_div,
    "gelu": lambda x, approximation: F.gelu(x, approximate=approximation),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardtanh": lambda x, min_value, max_value: F.hardtanh(x, min_value, max_value),
    "leaky_relu": F.leaky_relu,
    "max": torch.maximum,
    "min": torch.minimum,
    "mish": F.mish,
    "nan_to_num": lambda x, nan_replacement, posinf_replacement, neginf_replacement: torch.nan_to_num(
        x, nan_replacement, posinf_replacement, neginf_replacement
    ),
    "pow_scalar": torch.pow,
    "quick_gelu": ACTIVATIONS["quick_gelu"],
    "relu6": F.relu6,
    "remainder": remainder,
    "shift_left": torch.bitwise_left_shift,
    "shift_right": torch.bitwise_right_shift,
    "sign": sign,
    "silu": F.silu,
    "softplus": F.softplus,
    "softsign": F.softsign,
}
CREATION: dict[str, Callable[..., Any]] = {
    "arange": arange,
    "extent": lambda value, dtype: torch.tensor(value, dtype=DTYPES[dtype]),
    "eye": lambda n, m, dtype: torch.eye(n, n if m is None else m, dtype=DTYPES[dtype]),
    "full": lambda shape, fill_value, dtype: torch.full(shape, fill_value, dtype=DTYPES[dtype]),
    "full_like": lambda x, fill_value, dtype: torch.full_like(x, fill_value, dtype=like(x, dtype)),
    "get_timestep_embedding": timestep_embedding,
    "linspace": lambda start, end, steps, dtype: torch.linspace(start, end, steps, dtype=DTYPES[dtype]),
    "meshgrid": lambda inputs, indexing: torch.meshgrid(*inputs, indexing=indexing),
    "ones": lambda shape, dtype: torch.ones(shape, dtype=DTYPES[dtype]),
    "ones_like": lambda x, dtype: torch.ones_like(x, dtype=like(x, dtype)),
    "zeros": lambda shape, dtype: torch.zeros(shape, dtype=DTYPES[dtype]),
    "zeros_like": lambda x, dtype: torch.zeros_like(x, dtype=like(x, dtype)),
}
PRODUCTS: dict[str, Callable[..., Tensor]] = {
    "addmm": torch.addmm,
    "bmm_layout": lambda a, b, d0, a_layout, b_layout, c_layout: batched(a, b, d0, a_layout + b_layout + c_layout),
    "bmm_xxx": lambda a, b, d0, layout, a_layout, b_layout, c_layout: batched(a, b, d0, layout or a_layout + b_layout + c_layout),
    "conv1d_epilogue": lambda x, w, bias, residual, stride, padding, dilation, groups, activation: ACTIVATIONS[activation](
        plus(F.conv1d(x, w, bias, stride, padding, dilation, groups), residual)
    ),
    "conv2d": F.conv2d,
    "conv2d_epilogue": lambda x, w, bias, residual, stride, padding, dilation, groups, activation: ACTIVATIONS[activation](
        plus(F.conv2d(x, w, bias, stride, padding, dilation, groups), residual)
    ),
    "dual_gemm": lambda a, b0, b1, bias0, bias1, activation: ACTIVATIONS[activation](F.linear(a, b0, bias0)) * F.linear(a, b1, bias1),
    "einsum": lambda a, b, equation: torch.einsum(equation, a) if b is None else torch.einsum(equation, a, b),
    "flash_attention": flash_attention,
    "flash_attention_qkv": lambda qkv, causal: flash_attention(*qkv.unbind(2), None, causal),
    "gemm": lambda a, b, a_layout, b_layout: (a.mT if a_layout == "c" else a) @ (b.mT if b_layout == "c" else b),
    "gemm_epilogue": gemm_epilogue,
    "gemm_packed": lambda a, b, a_layout, columns: (a.mT if a_layout == "c" else a) @ torch.cat(b.unbind(-3), -1)[..., :columns],
    "linear": F.linear,
    "scaled_dot_product_attention": sdpa,
}
ROWS: dict[str, Callable[..., Any]] = {
    "add_layer_norm": lambda x, residual, weight, bias, eps: (x + residual, layer_norm(x + residual, weight, bias, eps)),
    "argmax": position(torch.argmax),
    "argmin": position(torch.argmin),
    "avg_pool1d": F.avg_pool1d,
    "avg_pool2d": F.avg_pool2d,
    "batch_norm": F.batch_norm,
    "glu": F.glu,
    "group_norm": group_norm,
    "layer_norm": layer_norm,
    "layernorm_sigmoid_mul": lambda x, weight, bias, normalized_shape, eps: x * torch.sigmoid(layer_norm(x, weight, bias, eps, normalized_shape)),
    "log_softmax": F.log_softmax,
    "logsumexp": lambda x, dim, keepdim: torch.logsumexp(x, axes(x, dim), keepdim),
    "max_pool2d": F.max_pool2d,
    "normalize": F.normalize,
    "reduce_all": lambda x, dim, keepdim: torch.all(x, axes(x, dim), keepdim),
    "reduce_any": lambda x, dim, keepdim: torch.any(x, axes(x, dim), keepdim),
    "reduce_max": lambda x, dim, keepdim: torch.amax(x, axes(x, dim), keepdim),
    "reduce_mean": lambda x, dim, keepdim: torch.mean(x, axes(x, dim), keepdim),
    "reduce_min": lambda x, dim, keepdim: torch.amin(x, axes(x, dim), keepdim),
    "reduce_prod": prod,
    "reduce_sum": lambda x, dim, keepdim: torch.sum(x, axes(x, dim), keepdim, dtype=x.dtype),
    "rms_norm": lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps),
    "rms_normalize": lambda x, dim, eps: x * torch.rsqrt(x.square().mean(axes(x, dim), keepdim=True) + eps),
    "softmax": F.softmax,
    "standardize": standardize,
    "std": lambda x, dim, keepdim, unbiased: torch.std(x, axes(x, dim), correction=int(unbiased), keepdim=keepdim),
    "swiglu": lambda x: F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1],
    "topk": topk,
    "var": lambda x, dim, keepdim, unbiased: torch.var(x, axes(x, dim), correction=int(unbiased), keepdim=keepdim),
    "vector_norm": lambda x, dim, keepdim, ord: torch.linalg.vector_norm(x, ord, axes(x, dim), keepdim),
}
MOVES: dict[str, Callable[..., Any]] = {
    "batch_gather": batch_gather,
    "chunk": torch.chunk,
    "concatenate": torch.cat,
    "concatenate_tanh": lambda inputs, dim: torch.tanh(torch.cat(inputs, dim)),
    "dynamic_slice": lambda x, start_indices, slice_sizes: block(x, start_indices, slice_sizes),
    "embedding": lambda table, indices: F.embedding(indices, table),
    "expand": lambda x, shape: x.expand(shape),
    "flatten": torch.flatten,
    "flip": torch.flip,
    "gather": lambda x, index, dim: torch.gather(x, dim, index.long()),
    "identity": torch.clone,
    "index_select": lambda x, indices, dim: torch.index_select(x, dim, indices),
    "masked_select": lambda x, mask: (torch.masked_select(x, mask), torch.count_nonzero(mask.expand(torch.broadcast_shapes(x.shape, mask.shape)))),
    "movedim": torch.movedim,
    "one_hot": lambda x, num_classes: F.one_hot(x.long(), num_classes),
    "pad": lambda x, pad, value: F.pad(x, pad, value=value),
    "pad_last_dim": lambda x, left, right, value: F.pad(x, (left, right), value=value),
    "permute": torch.permute,
    "pixel_shuffle": F.pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "repeat": lambda x, repeats: x.repeat(*repeats),
    "repeat_interleave": torch.repeat_interleave,
    "reshape": reshape,
    "roll": torch.roll,
    "slice": sliced,
    "slice_reshape_scatter": lambda x, update, start_indices, slice_shape: scattered(x, update.reshape(slice_shape), start_indices),
    "slice_scatter": lambda x, update, start_indices: scattered(x, update, start_indices),
    "split": lambda x, split_size_or_sections, dim: torch.split(
        x, split_size_or_sections if isinstance(split_size_or_sections, int) else list(split_size_or_sections), dim
    ),
    "squeeze": lambda x, dim: torch.squeeze(x) if dim is None else torch.squeeze(x, dim),
    "stack": torch.stack,
    "transpose": torch.transpose,
    "tril": torch.tril,
    "triu": torch.triu,
    "unbind": torch.unbind,
    "unflatten": torch.unflatten,
    "unsqueeze": torch.unsqueeze,
}
CALLS: dict[str, Callable[..., Any]] = {**UNARY, **BINARY, **ELEMENTWISE, **CREATION, **PRODUCTS, **ROWS, **MOVES}
