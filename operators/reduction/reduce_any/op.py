"""Reduce any."""

from __future__ import annotations

from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    return TensorType("bool", c.reduced("x", c["dim"], c["keepdim"]))
