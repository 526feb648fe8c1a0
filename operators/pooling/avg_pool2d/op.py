"""The shape of average pooling."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x = c.input("x")
    size: list[IntLike] = []
    for d, k, s, p in zip(x.shape[2:], c["kernel_size"], c["stride"], c["padding"]):
        room = intexpr.add(d, 2 * p - (k))
        if not intexpr.nonnegative(room):
            least = intexpr.bounds(intexpr.add(d, 2 * p))[0]
            c.fail(f"the window reaches over {k} elements, the padded image of {x} may have only {least}")
        if c["ceil_mode"]:
            starts = intexpr.ceildiv(intexpr.add(d, p), s)  # windows that start inside
            size.append(intexpr.minimum(intexpr.add(intexpr.ceildiv(room, s), 1), starts))
        else:
            size.append(intexpr.add(intexpr.floordiv(room, s), 1))
    return TensorType(x.dtype, (*x.shape[:2], *size))
