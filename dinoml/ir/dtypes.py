"""The dtypes that tensors may have: one table with sizes, NumPy types, C++ names and ABI numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DType:
    """One storage dtype. `compute` is the dtype of the values that kernels calculate with after loading it."""

    name: str
    nbytes: int
    abi: int
    cpp: str
    kind: str  # "float", "int" or "bool"
    compute: str
    safetensors: str


_TABLE = (
    DType("float16", 2, 1, "f16", "float", "float32", "F16"),
    DType("float32", 4, 2, "float", "float", "float32", "F32"),
    DType("int32", 4, 3, "int32_t", "int", "int32", "I32"),
    DType("int64", 8, 4, "int64_t", "int", "int64", "I64"),
    DType("bool", 1, 5, "b8", "bool", "bool", "BOOL"),
    DType("bfloat16", 2, 6, "bf16", "float", "float32", "BF16"),
)
DTYPES: dict[str, DType] = {d.name: d for d in _TABLE}
ALIASES: dict[str, str] = {
    "half": "float16", "fp16": "float16", "f16": "float16",
    "float": "float32", "fp32": "float32", "f32": "float32",
    "int": "int32", "i32": "int32", "long": "int64", "i64": "int64",
    "bf16": "bfloat16", "boolean": "bool",
}  # fmt: skip
SETS: dict[str, tuple[str, ...]] = {
    "floats": ("float32", "float16", "bfloat16"),
    "ints": ("int32", "int64"),
    "bools": ("bool",),
    "numbers": ("float32", "float16", "bfloat16", "int32", "int64"),
    "any": ("float32", "float16", "bfloat16", "int32", "int64", "bool"),
}


def dtype(name: object) -> str:
    """Return the canonical name of a dtype given as a name, an alias or anything NumPy understands; raise TypeError otherwise."""
    if isinstance(name, str):
        canonical = ALIASES.get(name, name)
        if canonical in DTYPES:
            return canonical
    else:
        try:
            canonical = np.dtype(name).name  # type: ignore[call-overload]
        except TypeError:
            canonical = str(name)
        if canonical in DTYPES:
            return canonical
    raise TypeError(f"dtype {name!r} is not one of {', '.join(DTYPES)} (or an alias: {', '.join(ALIASES)})")


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype that stores `name` (bfloat16 comes from ml_dtypes)."""
    kind: Any = name
    if name == "bfloat16":
        import ml_dtypes

        kind = ml_dtypes.bfloat16
    found: np.dtype[Any] = np.dtype(kind)
    return found


def nbytes(name: str) -> int:
    """Return the bytes of one element."""
    return DTYPES[name].nbytes


def compute_dtype(name: str) -> str:
    """Return the dtype of the values a kernel sees after loading storage of dtype `name`."""
    return DTYPES[name].compute
