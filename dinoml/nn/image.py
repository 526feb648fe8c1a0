"""Convolution and pooling modules, channels first."""

from __future__ import annotations

from typing import Any

from dinoml import ops
from dinoml.frontend.model import Module, Parameter

Size = int | tuple[int, int]


def _pair(value: Size) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


class Conv2d(Module):
    """2-D convolution of [N, C, H, W]; with add=True forward takes a residual, activation is None or "relu"."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        activation: str | None = None,
        add: bool = False,
        dtype: str = "float32",
    ) -> None:
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"Conv2d: channels {in_channels} -> {out_channels} are not divisible by groups={groups}")
        self.weight = Parameter([out_channels, in_channels // groups, *_pair(kernel_size)], dtype)
        self.bias = Parameter([out_channels], dtype) if bias else None
        self.window: dict[str, Any] = {"stride": _pair(stride), "padding": _pair(padding), "dilation": _pair(dilation), "groups": groups}
        self.activation, self.add = activation or "", add

    def forward(self, x: Any, residual: Any = None) -> Any:
        if self.add != (residual is not None):
            raise ValueError(f"Conv2d: add={self.add}, but forward got {'a' if residual is not None else 'no'} residual")
        return ops.conv2d_epilogue(x, self.weight, self.bias, residual, activation=self.activation, **self.window)


class MaxPool2d(Module):
    """The largest element of each window."""

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1, ceil_mode: bool = False) -> None:
        self.window: dict[str, Any] = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}

    def forward(self, x: Any) -> Any:
        return ops.max_pool2d(x, **self.window)


class AvgPool2d(Module):
    """The mean of each window."""

    def __init__(
        self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        self.window: dict[str, Any] = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        self.modes = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}

    def forward(self, x: Any) -> Any:
        return ops.avg_pool2d(x, **self.window, **self.modes)


class AvgPool1d(Module):
    """The mean of each window of a line."""

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0, ceil_mode: bool = False, count_include_pad: bool = True
    ) -> None:
        self.window: dict[str, Any] = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        self.modes = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}

    def forward(self, x: Any) -> Any:
        return ops.avg_pool1d(x, **self.window, **self.modes)


class PixelShuffle(Module):
    """[N, C*r*r, H, W] to [N, C, H*r, W*r]."""

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, x: Any) -> Any:
        return ops.pixel_shuffle(x, self.upscale_factor)


class PixelUnshuffle(Module):
    """[N, C, H*r, W*r] to [N, C*r*r, H, W]."""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, x: Any) -> Any:
        return ops.pixel_unshuffle(x, self.downscale_factor)
