"""Convolution as a product: weights times the windows of the image, which are read through their index map."""

from __future__ import annotations

from typing import Any

from dinoml.ir import expr as ex
from dinoml.ir import intexpr
from dinoml.ir.intexpr import Symbol
from dinoml.lowering.forms import Form, Load, Store, delinearise
from dinoml.lowering.window import Window
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    x, w, y = c.input("x"), c.input("weight"), traits["results"][0]
    groups = c["groups"]
    batch, _, *image = x.shape
    outputs, per_group, *kernel = w.shape
    if not all(isinstance(e, int) for e in (outputs, per_group, *kernel)):
        c.fail(f"the weight {w} must have a static shape")
    window = Window(tuple(image), tuple(kernel), c["stride"], c["padding"], c["dilation"])  # type: ignore[arg-type]
    rows, inner = outputs // groups, per_group * kernel[0] * kernel[1]  # type: ignore[operator]
    out = y.shape[2:]
    b, g = Symbol("o0", extent=batch), Symbol("o1", extent=groups)
    m, k, n = Symbol("m", extent=rows), Symbol("k", extent=inner), Symbol("n", extent=intexpr.product(out))
    channel, *tap = delinearise(k, (per_group, *kernel))
    at = delinearise(n, out)
    position = window.source(at, tuple(tap))
    result = intexpr.add(intexpr.mul(g, rows), m)
    value: ex.Expr = ex.Input("value", "float32")
    if c.has("bias"):
        value = ex.call("add", value, ex.cast(c.read("bias", (result,)), "float32"))
    return Form(
        template="gemm",
        outer=(b, g),
        ports=(
            Load("a", c.names[1], (result, channel, *tap), (m, k), accepts="strided"),
            Load(
                "b",
                c.names[0],
                (b, intexpr.add(intexpr.mul(g, per_group), channel), *position),
                (k, n),
                guard=window.inside(position),
                dtype="float32",
            ),
            Store("y", 0, (b, result, *at), (m, n), expr=value),
        ),
        tail=(rows, intexpr.product(out), inner),
        outer_slots=2,
        reduction=inner,
        flops=intexpr.mul(2 * inner, y.numel),
    )
