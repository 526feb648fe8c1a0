"""Average pooling as a sum over windows, divided by the number of elements that count."""

from __future__ import annotations

from typing import Any

from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.forms import Form
from dinoml.lowering.window import Window, window_form
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    window = Window(c.input("x").shape[2:], c["kernel_size"], c["stride"], c["padding"], (1, 1))
    margin = window.padding if c["count_include_pad"] else (0, 0)

    def divide(out: tuple[IntLike, ...]) -> IntLike:
        """The elements of a window that lie in the input, or in the input and its padding."""
        count: IntLike = 1
        for o, n, k, s, p, m in zip(out, window.size, window.kernel, window.stride, window.padding, margin):
            start = intexpr.add(intexpr.mul(o, s), -p)
            first = intexpr.maximum(start, -m)
            last = intexpr.minimum(intexpr.add(start, k), intexpr.add(n, m))
            count = intexpr.mul(count, intexpr.add(last, intexpr.mul(-1, first)))
        return count

    return window_form(c, traits["results"][0], "Sum", window, 0.0, divide)
