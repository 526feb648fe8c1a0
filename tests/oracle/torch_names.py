"""What PyTorch says about the other names of operators, read from the name alone: the spec's fixed attributes have no part in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_calls import ACTIVATIONS, batched, flash_attention, floor_div, gemm_epilogue, group_norm, plus

from dinoml import ops

A, B, C = 5, 7, 3
OPERANDS = {"add": 1, "add_add": 2, "add_relu": 1, "add_add_relu": 2, "mul": 1, "mul_add": 2, "mul_tanh": 1, "sigmoid_mul": 1, "sigmoid_mul_tanh": 1}


@dataclass(frozen=True)
class Example:
    """A call of a public name: shapes of the inputs, which are positional, then attributes; and PyTorch's answer to the same."""

    shapes: Sequence[tuple[int, ...]]
    call: Callable[..., Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()  # float32 where none is said
    listed: bool = False  # the operator takes its inputs as one list
    use: Callable[..., Any] | None = None  # how a user calls it where that is not inputs, then attributes


def gemm(layout: str, bias: str, epilogue: str) -> Example:
    """Return an example of gemm_<layout>[_bias[_<epilogue>]]."""
    more = [(A, C)] * OPERANDS.get(epilogue, 0)

    def call(a: Tensor, b: Tensor, *rest: Tensor) -> Tensor:
        d = [*rest[1:], None, None]
        return gemm_epilogue(a, b, rest[0] if bias else None, d[0], d[1], "c" if layout == "rcr" else "r", epilogue)

    return Example([(A, B), (C, B) if layout == "rcr" else (B, C), *[(C,)] * bool(bias), *more], call)


def dual_gemm(bias: str, activation: str) -> Example:
    """Return an example of dual_gemm_rcr[_bias]_<activation>."""

    def call(a: Tensor, b0: Tensor, b1: Tensor, *biases: Tensor) -> Tensor:
        bias0, bias1 = biases or (None, None)
        return ACTIVATIONS[activation](F.linear(a, b0, bias0)) * F.linear(a, b1, bias1)

    return Example([(A, B), (C, B), (C, B), *[(C,)] * (2 if bias else 0)], call)


def bmm(layout: str, add: str) -> Example:
    """Return an example of bmm_<layout>[_add]."""
    a, b, y = ((2, *(s if letter == "r" else s[::-1])) for s, letter in zip(((A, B), (B, C), (A, C)), layout))
    return Example([a, b, *[y] * bool(add)], lambda a, b, d0=None: batched(a, b, d0, layout))


def conv(rank: str, bias: str, add: str, relu: str) -> Example:
    """Return an example of conv<rank>d[_bias][_add][_relu]."""
    n = int(rank)
    convolve = F.conv1d if n == 1 else F.conv2d

    def call(x: Tensor, weight: Tensor, *rest: Tensor, stride: int) -> Tensor:
        y = plus(convolve(x, weight, rest[0] if bias else None, stride), *rest[1:])
        return F.relu(y) if relu else y

    return Example([(2, C, *[9] * n), (A, C, *[3] * n), *[(A,)] * bool(bias), *[(2, A, *[4] * n)] * bool(add)], call, {"stride": 2})


PATTERNS: dict[str, Callable[..., Example]] = {
    r"gemm_(rcr|rrr)(?:_(bias)(?:_(\w+))?)?": gemm,
    r"dual_gemm_rcr(?:_(bias))?_(\w+)": dual_gemm,
    r"bmm_([rc]{3})(?:_(add))?": bmm,
    r"conv([12])d(?:_(bias)(?:_(add))?(?:_(relu))?)?": conv,
}
ONE, TWO, CUBE = [(A, B)], [(A, B), (A, B)], [(2, 3, 4)]
WHOLE, BOOL = ("int64", "int64"), ("bool",)
QKV = [(2, A, 4, 8)] * 3
EXAMPLES = {
    "all": Example(ONE, lambda x: torch.all(x, -1), dtypes=BOOL),
    "amax": Example(ONE, lambda x: torch.amax(x, -1)),
    "amin": Example(ONE, lambda x: torch.amin(x, -1)),
    "any": Example(ONE, lambda x: torch.any(x, -1), dtypes=BOOL),
    "bmm": Example([(2, A, B), (2, B, C)], torch.bmm),
    "bmm_xxx_add": Example([(2, B, A), (2, B, C), (2, A, C)], lambda a, b, d0, layout: batched(a, b, d0, layout), {"layout": "crr"}),
    "broadcast_to": Example([(A, 1)], lambda x, shape: torch.broadcast_to(x, shape), {"shape": (2, A, 3)}),
    "cat": Example(TWO, torch.cat, {"dim": 1}, listed=True),
    "clip": Example(ONE, torch.clip, {"min": -1.0, "max": 0.5}),
    "clone": Example(ONE, torch.clone),
    "concat": Example(TWO, torch.concat, {"dim": 1}, listed=True),
    "concatenate_fast": Example(TWO, torch.concatenate, {"dim": 1}, listed=True),
    "contiguous": Example(ONE, Tensor.contiguous),
    "detach": Example(ONE, Tensor.detach),
    "expand_static_shape": Example([(A, 1)], lambda x, shape: x.expand(shape), {"shape": (2, A, 3)}),
    "flash_attention_bias": Example([*QKV, (4, A, A)], lambda q, k, v, bias: flash_attention(q, k, v, bias, False)),
    "floor_divide": Example(TWO, floor_div, dtypes=WHOLE),
    "gelu_new": Example(ONE, ACTIVATIONS["gelu"]),
    "group_norm_swish": Example([(2, A, 6)], lambda x, num_groups: group_norm(x, None, None, num_groups, 1e-5, False, "swish"), {"num_groups": 2}),
    "maximum": Example(TWO, torch.maximum),
    "mean": Example(ONE, lambda x: torch.mean(x, -1)),
    "minimum": Example(TWO, torch.minimum),
    "mod": Example(TWO, torch.remainder),
    "multiply": Example(TWO, torch.multiply),
    "negative": Example(ONE, torch.negative),
    "permute021": Example(CUBE, lambda x: x.permute(0, 2, 1)),
    "permute0213": Example([(2, 3, 4, 5)], lambda x: x.permute(0, 2, 1, 3)),
    "permute102": Example(CUBE, lambda x: x.permute(1, 0, 2)),
    "permute210": Example(CUBE, lambda x: x.permute(2, 1, 0)),
    "prod": Example(ONE, lambda x: torch.prod(x, -1)),
    "qkv_split": Example([(A, 9)], lambda x: x.chunk(3, -1)),
    "runtime_index_select": Example(
        [(A, B), (4,)], lambda x, i: torch.index_select(x, 1, i), dtypes=("float32", "int64"), use=lambda x, i: ops.runtime_index_select(x, 1, i)
    ),
    "subtract": Example(TWO, torch.subtract),
    "sum": Example(ONE, lambda x: torch.sum(x, -1)),
    "swish": Example(ONE, F.silu),
    "t5_layer_norm": Example([(A, B), (B,)], lambda x, w: w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))),
    "tile": Example(ONE, lambda x, repeats: torch.tile(x, repeats), {"repeats": (2, 3)}),
    "true_divide": Example(TWO, torch.true_divide),
}


def example(name: str) -> Example | None:
    """Return the example of a public name, None where there is none."""
    for pattern, make in PATTERNS.items():
        found = re.fullmatch(pattern, name)
        if found:
            return make(*(g or "" for g in found.groups()))
    return EXAMPLES.get(name)
