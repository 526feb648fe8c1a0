"""The values of a graph in float64, computed node by node with the operators' NumPy references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dinoml.ir import intexpr
from dinoml.ir.graph import Function, Node
from dinoml.operators import registry
from dinoml.operators.operator import node_call

Arrays = dict[str, np.ndarray[Any, Any]]


def evaluate(function: Function, arrays: Mapping[str, np.ndarray[Any, Any]], dims: Mapping[str, int]) -> Iterator[tuple[Node, Arrays]]:
    """Yield each node with the values of its outputs. `arrays` holds inputs, constants and states by value name."""
    sizes = dict(dims)
    extent_of = {value: dim for dim, value in function.extents.items()}
    values: Arrays = {name: wide(array) for name, array in arrays.items()}
    for node in function.nodes:
        operator = registry.get(node.op)
        call = node_call(operator, node, function.types)
        attrs = {name: numbers(value, sizes) for name, value in call.attrs.items()}
        results = operator.reference([values[i] if i else None for i in node.inputs], attrs)
        made = dict(zip(node.outputs, results))
        for name, result in made.items():
            values[name] = result
            if name in extent_of:
                sizes[extent_of[name]] = int(result)
        yield node, made


def wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return floats as float64, the rest as it is."""
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def numbers(value: Any, sizes: Mapping[str, int]) -> Any:
    """Return an attribute with its symbolic integers replaced by numbers."""
    if isinstance(value, intexpr.IntExpr):
        return int(intexpr.evaluate(value, sizes))
    if isinstance(value, (tuple, list)):
        return tuple(numbers(v, sizes) for v in value)
    return value
