"""The packed contraction as a kernel."""

from __future__ import annotations

from typing import Any

from dinoml.lowering.contraction import Operand, contraction_form
from dinoml.lowering.forms import Form
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    a, b = c.input("a"), c.input("b")
    right = Operand(c.names[1], b.shape[:-3], "packed", accepts="packed")
    return contraction_form(Operand(c.names[0], a.shape[:-2], c["a_layout"]), right, _rows(c), c["columns"], b.shape[-2])


def _rows(c: OpCall) -> Any:
    a = c.input("a")
    return a.shape[-2] if c["a_layout"] == "r" else a.shape[-1]
