"""A row reduction."""

from __future__ import annotations

from typing import Any

from dinoml.lowering.forms import Form
from dinoml.lowering.rows import reduce_form
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    return reduce_form(c, c["dim"], "Sum", c["keepdim"])
