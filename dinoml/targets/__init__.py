"""Targets: what a module is compiled for."""

from dinoml.targets.cpu import CpuLevel, host_arch
from dinoml.targets.target import NotBuiltYetError, Target, TargetError

__all__ = ["CpuLevel", "NotBuiltYetError", "Target", "TargetError", "host_arch"]
