"""Operators: specs, the functions beside them, and the public API made from both."""

from __future__ import annotations

from dinoml.operators.call import OpCall, OperatorError
from dinoml.operators.operator import Operator, node_call
from dinoml.operators.registry import get, index, names, public

__all__ = ["OpCall", "Operator", "OperatorError", "get", "index", "names", "node_call", "public"]
