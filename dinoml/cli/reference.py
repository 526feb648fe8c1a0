"""What the values of a graph should be, computed on demand so that values already known can be put in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dinoml.ir.graph import Function
from dinoml.operators.evaluate import bind_dims, run_node, wide

Array = np.ndarray[Any, Any]


class References:
    """The float64 values of a function. `arrays` holds inputs, constants and states by value name."""

    def __init__(self, function: Function, arrays: Mapping[str, Array]) -> None:
        self.function = function
        self._values: dict[str, Array] = {}
        self._sizes = bind_dims(function.types, {name: arrays[name] for name in function.inputs})
        self._dim_of = {value: dim for dim, value in function.extents.items()}
        for name, array in arrays.items():
            self.settle(name, array)

    def settle(self, name: str, array: Array) -> None:
        """From here on, take a value as given: later values show the errors made after it only."""
        self._values[name] = wide(array, self.function.types[name].dtype)

    def value(self, name: str) -> Array:
        """Return a value, computing what it needs."""
        stack = [name]
        while stack:
            if stack[-1] in self._values:
                stack.pop()
                continue
            node = self.function.producers[stack[-1]]
            missing = [i for i in node.uses if i not in self._values]
            stack.extend(missing)
            if missing:
                continue
            for output, result in zip(node.outputs, run_node(node, self.function.types, self._values, self._sizes)):
                self._values.setdefault(output, result)
                if output in self._dim_of:
                    self._sizes[self._dim_of[output]] = int(result)
        return self._values[name]
