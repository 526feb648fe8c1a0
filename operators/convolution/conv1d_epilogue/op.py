"""A line is an image of height 1."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    *,
    stride: tuple[int],
    padding: tuple[int],
    dilation: tuple[int],
    groups: int,
    activation: str,
) -> Tensor:
    image, kernel = b.unsqueeze(x, 2), b.unsqueeze(weight, 2)
    y = b.squeeze(b.conv2d(image, kernel, bias, (1, *stride), (0, *padding), (1, *dilation), groups), 2)
    y = y if residual is None else y + residual
    return b.relu(y) if activation == "relu" else y  # type: ignore[no-any-return]
