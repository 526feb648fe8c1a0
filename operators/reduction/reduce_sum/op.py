"""Sum over axes."""

from __future__ import annotations

from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, dims = c.input("x"), c["dim"]
    if c["keepdim"]:
        return TensorType(x.dtype, tuple(1 if i in dims else d for i, d in enumerate(x.shape)))
    return TensorType(x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in dims))
