"""Choosing kernels by measurement."""

from dinoml.profile.driver import choose_selector

__all__ = ["choose_selector"]
