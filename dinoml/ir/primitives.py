"""The functions of the expression language: names, operand and result types, NumPy meaning.

Each is a function of the same name in csrc/include/dinoml/math.h. Operators' expressions are written in these; the
compiler's core knows them and no operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Primitive:
    """One scalar function. `types`: what operands may be; `result`: "same" or a dtype; `cost`: rough arithmetic per element."""

    name: str
    arity: int
    types: tuple[str, ...]  # subset of ("float", "int", "bool")
    result: str
    cost: int
    numpy: Callable[..., Any]


def _erf(x: Any) -> Any:
    import math

    return np.vectorize(math.erf, otypes=[np.float64])(x) if np.size(x) else np.asarray(x, np.float64)


def _sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(np.asarray(x) >= 0, 1 / (1 + e), e / (1 + e))


def _int_div(fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(a: Any, b: Any) -> Any:
        if np.issubdtype(np.result_type(a, b), np.integer):
            safe = np.where(b == 0, 1, b)
            return np.where(b == 0, 0, fn(a, safe))
        return fn(a, b)

    return call


F, FI, N, FIB, B = ("float",), ("float", "int"), ("int",), ("float", "int", "bool"), ("bool",)
_TABLE = (
    Primitive("add", 2, FI, "same", 1, np.add),
    Primitive("sub", 2, FI, "same", 1, np.subtract),
    Primitive("mul", 2, FI, "same", 1, np.multiply),
    Primitive("div", 2, F, "same", 4, np.divide),
    Primitive("floor_div", 2, FI, "same", 6, _int_div(lambda a, b: np.floor(a / b) if np.issubdtype(np.result_type(a, b), np.floating) else a // b)),
    Primitive("mod", 2, FI, "same", 8, _int_div(np.mod)),
    Primitive("fmod", 2, F, "same", 10, np.fmod),
    Primitive("fma", 3, F, "same", 1, lambda a, b, c: a * b + c),
    Primitive("min", 2, FI, "same", 1, np.minimum),
    Primitive("max", 2, FI, "same", 1, np.maximum),
    Primitive("pow", 2, F, "same", 40, np.power),
    Primitive("copysign", 2, F, "same", 2, np.copysign),
    Primitive("neg", 1, FI, "same", 1, np.negative),
    Primitive("abs", 1, FI, "same", 1, np.abs),
    Primitive("sign", 1, FI, "same", 2, np.sign),
    Primitive("floor", 1, F, "same", 1, np.floor),
    Primitive("ceil", 1, F, "same", 1, np.ceil),
    Primitive("trunc", 1, F, "same", 1, np.trunc),
    Primitive("rint", 1, F, "same", 1, np.rint),
    Primitive("sqrt", 1, F, "same", 6, np.sqrt),
    Primitive("rsqrt", 1, F, "same", 8, lambda x: 1 / np.sqrt(x)),
    Primitive("rcp", 1, F, "same", 4, lambda x: 1 / np.asarray(x)),
    Primitive("exp", 1, F, "same", 12, np.exp),
    Primitive("expm1", 1, F, "same", 16, np.expm1),
    Primitive("log", 1, F, "same", 14, np.log),
    Primitive("log1p", 1, F, "same", 18, np.log1p),
    Primitive("log2", 1, F, "same", 14, np.log2),
    Primitive("tanh", 1, F, "same", 22, np.tanh),
    Primitive("erf", 1, F, "same", 24, _erf),
    Primitive("sin", 1, F, "same", 20, np.sin),
    Primitive("cos", 1, F, "same", 20, np.cos),
    Primitive("sigmoid", 1, F, "same", 18, _sigmoid),
    Primitive("isnan", 1, F, "bool", 1, np.isnan),
    Primitive("isinf", 1, F, "bool", 1, np.isinf),
    Primitive("isfinite", 1, F, "bool", 1, np.isfinite),
    Primitive("eq", 2, FIB, "bool", 1, np.equal),
    Primitive("ne", 2, FIB, "bool", 1, np.not_equal),
    Primitive("lt", 2, FI, "bool", 1, np.less),
    Primitive("le", 2, FI, "bool", 1, np.less_equal),
    Primitive("gt", 2, FI, "bool", 1, np.greater),
    Primitive("ge", 2, FI, "bool", 1, np.greater_equal),
    Primitive("logical_and", 2, B, "bool", 1, np.logical_and),
    Primitive("logical_or", 2, B, "bool", 1, np.logical_or),
    Primitive("logical_xor", 2, B, "bool", 1, np.logical_xor),
    Primitive("logical_not", 1, B, "bool", 1, np.logical_not),
    Primitive("bit_and", 2, N, "same", 1, np.bitwise_and),
    Primitive("bit_or", 2, N, "same", 1, np.bitwise_or),
    Primitive("bit_xor", 2, N, "same", 1, np.bitwise_xor),
    Primitive("bit_not", 1, N, "same", 1, np.bitwise_not),
    Primitive("shift_left", 2, N, "same", 1, np.left_shift),
    Primitive("shift_right", 2, N, "same", 1, np.right_shift),
)
PRIMITIVES: dict[str, Primitive] = {p.name: p for p in _TABLE}
