"""The first smallest element."""

from __future__ import annotations

from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x = c.input("x")
    if x.shape[c["dim"]] == 0:
        c.fail(f"{x} has nothing to choose from along dim={c['dim']}")
    return TensorType("int64", c.reduced("x", (c["dim"],), c["keepdim"]))
