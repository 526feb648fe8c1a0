"""Reduce sum."""

from __future__ import annotations

from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    return TensorType(c.input("x").dtype, c.reduced("x", c["dim"], c["keepdim"]))
