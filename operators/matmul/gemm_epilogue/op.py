"""GEMM with an epilogue: the product, then pointwise operators that fusion attaches to it."""

from __future__ import annotations

from dinoml.operators.build import Builder
from dinoml.operators.call import OperatorError
from dinoml.operators.value import Tensor

RESIDUALS = {"add": 1, "add_add": 2, "add_relu": 1, "add_add_relu": 2, "mul": 1, "mul_add": 2, "mul_tanh": 1, "sigmoid_mul": 1, "sigmoid_mul_tanh": 1}


def expand(b_: Builder, a: Tensor, b: Tensor, bias: Tensor | None, d0: Tensor | None, d1: Tensor | None, *, b_layout: str, epilogue: str) -> Tensor:
    given = sum(d is not None for d in (d0, d1))
    if given != RESIDUALS.get(epilogue, 0):
        raise OperatorError(f"gemm_epilogue: epilogue {epilogue!r} takes {RESIDUALS.get(epilogue, 0)} residual operands, got {given}")
    y: Tensor = b_.gemm(a, b, b_layout=b_layout)
    if bias is not None:
        y = y + bias
    parts = epilogue.split("_") if epilogue in RESIDUALS else [epilogue] if epilogue else []
    rest = [d for d in (d0, d1) if d is not None]
    for part in parts:
        y = _step(b_, y, part, rest)
    return y


def _step(b: Builder, y: Tensor, part: str, rest: list[Tensor]) -> Tensor:
    if part == "add":
        return y + rest.pop(0)
    if part == "mul":
        return y * rest.pop(0)
    return getattr(b, part)(y)  # type: ignore[no-any-return]
