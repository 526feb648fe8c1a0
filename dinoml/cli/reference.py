"""The values of a graph in float64, computed on demand with the operators' NumPy references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dinoml.ir import intexpr
from dinoml.ir.graph import Function, Node
from dinoml.operators import registry
from dinoml.operators.operator import node_call

Array = np.ndarray[Any, Any]


class References:
    """What each value of a function should be. `arrays` holds inputs, constants and states by value name."""

    def __init__(self, function: Function, arrays: Mapping[str, Array], dims: Mapping[str, int]) -> None:
        self.function = function
        self._values = {name: wide(array) for name, array in arrays.items()}
        self._sizes = dict(dims)
        self._dim_of = {value: dim for dim, value in function.extents.items()}

    def settle(self, name: str, array: Array) -> None:
        """From here on, take a value as given: later values show the errors made after it only."""
        self._values[name] = wide(array)

    def value(self, name: str) -> Array:
        """Return a value, computing what it needs."""
        stack = [name]
        while stack:
            top = stack[-1]
            if top in self._values:
                stack.pop()
                continue
            node = self.function.producers[top]
            missing = [i for i in node.uses if i not in self._values]
            if missing:
                stack.extend(missing)
            else:
                self._compute(node)
        return self._values[name]

    def _compute(self, node: Node) -> None:
        operator = registry.get(node.op)
        call = node_call(operator, node, self.function.types)
        attrs = {name: numbers(value, self._sizes) for name, value in call.attrs.items()}
        results = operator.reference([self._values[i] if i else None for i in node.inputs], attrs)
        for name, result in zip(node.outputs, results):
            self._values.setdefault(name, result)
            if name in self._dim_of:
                self._sizes[self._dim_of[name]] = int(result)


def wide(array: Array) -> Array:
    """Return floats as float64, the rest as it is."""
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def numbers(value: Any, sizes: Mapping[str, int]) -> Any:
    """Return an attribute with its symbolic integers replaced by numbers."""
    if isinstance(value, intexpr.IntExpr):
        return int(intexpr.evaluate(value, sizes))
    if isinstance(value, (tuple, list)):
        return tuple(numbers(v, sizes) for v in value)
    return value
