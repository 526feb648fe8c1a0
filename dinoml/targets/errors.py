"""What can be wrong with a target."""

from __future__ import annotations


class TargetError(ValueError):
    """A target that does not exist, or options that contradict each other."""


class NotBuiltYetError(TargetError):
    """A target that is known but for which this version cannot compile."""
