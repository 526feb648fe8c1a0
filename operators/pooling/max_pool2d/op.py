"""The shape of max pooling."""

from __future__ import annotations

from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall
from dinoml.operators.windows import window_counts


def infer(c: OpCall) -> TensorType:
    x = c.input("x")
    size = window_counts(c, x.shape[2:], c["kernel_size"], c["stride"], c["padding"], c["dilation"], c["ceil_mode"])
    return TensorType(x.dtype, (*x.shape[:2], *size))
