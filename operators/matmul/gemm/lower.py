"""The contraction as a kernel; constant right operands are stored packed."""

from __future__ import annotations

from typing import Any

from dinoml.lowering.contraction import Operand, contraction_form
from dinoml.lowering.forms import Form
from dinoml.operators import OpCall
from dinoml.operators.build import Builder
from dinoml.operators.value import Tensor

PANEL = {64: 32, 32: 16, 16: 8}  # columns of a panel by register bytes; the tiles in csrc/kernels/gemm.py read these


def store(c: OpCall, b: Builder, inputs: list[Tensor], traits: dict[str, Any]) -> tuple[str, list[Tensor], dict[str, Any], tuple[int, ...]] | None:
    """Pack a constant right operand: [K, N] becomes panels of adjacent columns, [ceil(N / panel), K, panel]."""
    weight = inputs[1]
    if not traits["constant"][1] or traits["constant"][0] or any(not isinstance(e, int) for e in weight.shape):
        return None
    width = PANEL[traits["target"].vector_bytes]
    if c["b_layout"] == "c":
        weight = b.permute(weight, (*range(weight.rank - 2), weight.rank - 1, weight.rank - 2))
    *batch, k, n = weight.shape
    panels = -(-n // width)
    weight = b.reshape(b.pad(weight, (0, panels * width - n)), (*batch, k, panels, width))
    rank = len(batch)
    weight = b.permute(weight, (*range(rank), rank + 1, rank, rank + 2))
    return "gemm_packed", [inputs[0], weight], {"a_layout": c["a_layout"], "columns": n}, (1,)


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    a, b = c.input("a"), c.input("b")
    m, k = a.shape[-2:] if c["a_layout"] == "r" else a.shape[-1:-3:-1]
    n = b.shape[-1] if c["b_layout"] == "r" else b.shape[-2]
    return contraction_form(Operand(c.names[0], a.shape[:-2], c["a_layout"]), Operand(c.names[1], b.shape[:-2], c["b_layout"]), m, n, k)
