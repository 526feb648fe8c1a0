"""Layer normalisation: standardise, then the affine part, which fusion attaches."""

from __future__ import annotations

from dinoml.ir import shapes
from dinoml.ir.intexpr import IntLike
from dinoml.operators.build import Builder
from dinoml.operators.call import OperatorError
from dinoml.operators.value import Tensor


def expand(b: Builder, x: Tensor, weight: Tensor | None, bias: Tensor | None, *, eps: float, normalized_shape: tuple[IntLike, ...] | None) -> Tensor:
    affine = weight if weight is not None else bias
    shape = normalized_shape if normalized_shape is not None else affine.shape if affine is not None else x.shape[-1:]
    if len(shape) > x.rank or not shape or tuple(x.shape[x.rank - len(shape) :]) != tuple(shape):
        raise OperatorError(f"layer_norm: x {shapes.show(x.shape)} does not end with {shapes.show(shape)}")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t.shape != tuple(shape):
            raise OperatorError(f"layer_norm: {name} has shape {shapes.show(t.shape)}, it must be {shapes.show(shape)}")
    y: Tensor = b.standardize(x, dim=tuple(range(x.rank - len(shape), x.rank)), eps=eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias
