"""The shape of a 2-D convolution."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    x, weight, groups = c.input("x"), c.input("weight"), c["groups"]
    n, channels, *image = x.shape
    out, per_group, *kernel = weight.shape
    if intexpr.mul(per_group, groups) != channels or (isinstance(out, int) and out % groups):
        rule = f"channels must be groups times {per_group} and outputs divisible by groups"
        c.fail(f"x has {channels} channels, weight {out} x {per_group}, groups={groups}: {rule}")
    if c.has("bias") and c.input("bias").shape != (out,):
        c.fail(f"bias has shape {c.input('bias')}, weight makes {out} channels")
    size: list[IntLike] = []
    for d, k, s, p, step in zip(image, kernel, c["stride"], c["padding"], c["dilation"]):
        reach = intexpr.add(intexpr.mul(step, intexpr.add(k, -1)), 1)
        room = intexpr.add(intexpr.add(d, 2 * p), intexpr.mul(-1, reach))
        if not intexpr.nonnegative(room):
            c.fail(f"the kernel reaches over {reach} elements, the padded image of {x} may have only {intexpr.bounds(intexpr.add(d, 2 * p))[0]}")
        size.append(intexpr.add(intexpr.floordiv(room, s), 1))
    return TensorType(x.dtype, (n, out, *size))
