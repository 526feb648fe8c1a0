"""Reduce min."""

from __future__ import annotations

from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x = c.input("x")
    if any(x.shape[d] == 0 for d in c["dim"]) and c.reduced("x", c["dim"], False).count(0) == 0:
        c.fail(f"{x} has nothing to choose from along dim={c['dim']}")
    return TensorType(x.dtype, c.reduced("x", c["dim"], c["keepdim"]))
