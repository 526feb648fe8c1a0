"""The shape of a 2-D convolution."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall
from dinoml.operators.windows import window_counts


def infer(c: OpCall) -> TensorType:
    x, weight, groups = c.input("x"), c.input("weight"), c["groups"]
    n, channels, *image = x.shape
    out, per_group, *kernel = weight.shape
    if intexpr.mul(per_group, groups) != channels or (isinstance(out, int) and out % groups):
        rule = f"channels must be groups times {per_group} and outputs divisible by groups"
        c.fail(f"x has {channels} channels, weight {out} x {per_group}, groups={groups}: {rule}")
    if c.has("bias") and c.input("bias").shape != (out,):
        c.fail(f"bias has shape {c.input('bias')}, weight makes {out} channels")
    size = window_counts(c, image, kernel, c["stride"], c["padding"], c["dilation"])
    return TensorType(x.dtype, (n, out, *size))
