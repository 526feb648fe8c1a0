"""How many windows fit: the shape rule that pooling and convolution share."""

from __future__ import annotations

from collections.abc import Sequence

from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.operators.call import OpCall


def window_counts(
    c: OpCall,
    image: Sequence[IntLike],
    kernel: Sequence[IntLike],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool = False,
) -> list[IntLike]:
    """Return the result's extents for windows of `kernel` taps over an image; fail when a window may not fit into the padded image.

    `ceil_mode` also counts windows that reach past the end, as long as they start inside.
    """
    out: list[IntLike] = []
    for d, k, s, p, step in zip(image, kernel, stride, padding, dilation):
        reach = intexpr.add(intexpr.mul(step, intexpr.add(k, -1)), 1)
        padded = intexpr.add(d, 2 * p)
        room = intexpr.add(padded, intexpr.mul(-1, reach))
        if not intexpr.nonnegative(room):
            c.fail(f"a window reaches over {reach} elements, the padded image may have only {intexpr.bounds(padded)[0]} (extent {d}, padding {p})")
        if ceil_mode:
            out.append(intexpr.minimum(intexpr.add(intexpr.ceildiv(room, s), 1), intexpr.ceildiv(intexpr.add(d, p), s)))
        else:
            out.append(intexpr.add(intexpr.floordiv(room, s), 1))
    return out
