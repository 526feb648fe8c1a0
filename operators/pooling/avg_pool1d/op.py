"""Pooling of a line as pooling of an image of height 1."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor


def expand(
    b: Builder, x: Tensor, *, kernel_size: tuple[int], stride: tuple[int], padding: tuple[int], ceil_mode: bool, count_include_pad: bool
) -> Tensor:
    image = b.unsqueeze(x, 2)
    y = b.avg_pool2d(image, (1, *kernel_size), (1, *stride), (0, *padding), ceil_mode, count_include_pad)
    return b.squeeze(y, 2)  # type: ignore[no-any-return]
