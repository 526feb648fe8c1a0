"""Choosing kernels by measurement: problems, jobs for a child process, timings, plans."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Names are made on first use: the child process imports this package and needs none of them.
_HOMES = {
    "PlanError": "dinoml.profile.plan",
    "choose_selector": "dinoml.profile.driver",
    "explain": "dinoml.profile.explanation",
    "profile_artifact": "dinoml.profile.driver",
}
__all__ = ["PlanError", "choose_selector", "explain", "profile_artifact"]

if TYPE_CHECKING:
    from dinoml.profile.driver import choose_selector, profile_artifact
    from dinoml.profile.explanation import explain
    from dinoml.profile.plan import PlanError


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dinoml.profile' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
