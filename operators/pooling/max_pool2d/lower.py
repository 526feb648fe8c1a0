"""Max pooling as a reduction over windows."""

from __future__ import annotations

import math
from typing import Any

from dinoml.lowering.forms import Form
from dinoml.lowering.window import Window, window_form
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    window = Window(c.input("x").shape[2:], c["kernel_size"], c["stride"], c["padding"], c["dilation"])
    return window_form(c, traits["results"][0], "Max", window, -math.inf)
