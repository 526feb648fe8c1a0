"""Top-k: values and positions."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> list[TensorType]:
    x, dim, k = c.input("x"), c["dim"], c["k"]
    if not intexpr.nonnegative(intexpr.add(x.shape[dim], -k)):
        c.fail(f"k={k} is more than axis {dim} of {x} has for certain")
    shape = (*x.shape[:dim], k, *x.shape[dim + 1 :])
    return [TensorType(x.dtype, shape), TensorType("int64", shape)]
