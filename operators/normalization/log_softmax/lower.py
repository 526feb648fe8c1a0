"""Logarithm of softmax along one axis as a row kernel."""

from __future__ import annotations

from typing import Any

from dinoml.lowering.forms import Form
from dinoml.lowering.rows import rowwise_form
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    return rowwise_form(c, (c["dim"],), "softmax", (("log", True),))
