"""Running graphs on the operators' NumPy references: the oracle that needs no compiler."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import numpy as np

from dinoml.ir import dtypes, intexpr
from dinoml.ir.graph import Function, Graph, Node, TensorType
from dinoml.ir.intexpr import IntExpr
from dinoml.operators import registry
from dinoml.operators.operator import node_call

Array = np.ndarray[Any, Any]


def wide(value: Any, dtype: str) -> Array:
    """Return an array as references take it: rounded to the storage dtype, floats then as float64."""
    stored = np.asarray(value).astype(dtypes.numpy_dtype(dtype))
    return stored.astype(np.float64) if dtypes.DTYPES[dtype].kind == "float" else stored


def bind_dims(types: Mapping[str, TensorType], arrays: Mapping[str, Any]) -> dict[str, int]:
    """Return the run-time values of all dims; raise ValueError naming the input and axis that do not fit."""
    env: dict[str, int] = {}
    for name, array in arrays.items():
        shape = np.shape(array)
        if len(shape) != types[name].rank:
            raise ValueError(f"input {name!r} has shape {list(shape)}, expected {types[name]}")
        for axis, (d, n) in enumerate(zip(types[name].shape, shape)):
            if isinstance(d, intexpr.Symbol) and env.setdefault(d.name, n) != n:
                raise ValueError(f"input {name!r}, axis {axis}: {d.name} is {n} here and {env[d.name]} elsewhere")
            if isinstance(d, intexpr.Symbol) and not (d.lo <= n <= d.hi and n % d.divisible_by == 0):
                raise ValueError(f"input {name!r}, axis {axis}: {d.name}={n} is outside {d.lo}..{d.hi} in steps of {d.divisible_by}")
    for name, array in arrays.items():
        for axis, (d, n) in enumerate(zip(types[name].shape, np.shape(array))):
            if intexpr.evaluate(d, env) != n:
                raise ValueError(f"input {name!r}, axis {axis}: the extent is {n}, expected {d} = {intexpr.evaluate(d, env)}")
    return env


def concrete(value: Any, env: Mapping[str, int]) -> Any:
    """Return an attribute with every integer expression replaced by its value."""
    if isinstance(value, IntExpr):
        return int(intexpr.evaluate(value, env))
    return tuple(concrete(v, env) for v in value) if isinstance(value, tuple) else value


def run_node(node: Node, types: Mapping[str, TensorType], values: Mapping[str, Array], env: Mapping[str, int]) -> tuple[Array, ...]:
    """Return a node's results from its operator's reference, ints and bools in their dtype."""
    op = registry.get(node.op)
    call = node_call(op, node, types)
    attrs = {k: concrete(v, env) for k, v in call.attrs.items()}
    results = op.reference([values[i] if i else None for i in node.inputs], attrs)
    out = []
    for name, r in zip(node.outputs, results, strict=True):
        kind = dtypes.DTYPES[types[name].dtype].kind
        out.append(r.astype(np.float64 if kind == "float" else dtypes.numpy_dtype(types[name].dtype)))
    return tuple(out)


def evaluate(
    target: Graph | Function,
    inputs: Mapping[str, Any],
    constants: Mapping[str, Any] | None = None,
    *,
    function: str | None = None,
    dims: Mapping[str, int] | None = None,
    states: MutableMapping[str, Any] | None = None,
    round_to_storage: bool = False,
    values: MutableMapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Return the outputs by name, floats as float64.

    Inputs and constants are first rounded to their storage dtypes. With `round_to_storage` every intermediate result is
    rounded too, as a run without fusion does. `dims` gives the values of Dims that no input has. `states` holds the states'
    contents and receives what is written; `values` receives every intermediate value.
    """
    if isinstance(target, Graph):
        target = target.functions[0] if function is None else target.function(function)
    fn = target
    missing = [c for c in fn.constants if c not in (constants or {})] + [i for i in fn.inputs if i not in inputs]
    if missing:
        raise ValueError(f"function {fn.name!r}: no value for {', '.join(missing)}")
    env = dict(dims or {}) | bind_dims(fn.types, {i: inputs[i] for i in fn.inputs})
    held = {} if states is None else states
    found: MutableMapping[str, Array] = {} if values is None else values
    for name in fn.inputs:
        found[name] = wide(inputs[name], fn.types[name].dtype)
    for name in fn.constants:
        found[name] = wide((constants or {})[name], fn.types[name].dtype)
    for value, state in fn.states.items():
        t = fn.types[value]
        held.setdefault(state, np.zeros(concrete(t.shape, env), dtypes.numpy_dtype(t.dtype)))
        found[value] = wide(held[state], t.dtype)
    sizes = {v: d for d, v in fn.extents.items()}
    for node in fn.nodes:
        for name, r in zip(node.outputs, run_node(node, fn.types, found, env)):
            found[name] = wide(r, fn.types[name].dtype) if round_to_storage else r
            if name in sizes:
                env[sizes[name]] = int(r)
        for name in node.outputs:
            expected = concrete(fn.types[name].shape, env)
            if found[name].shape != expected:
                raise AssertionError(f"node {node.id}: the reference gives shape {found[name].shape}, inference {expected}")
    for w in fn.writes:
        held[w.state] = found[w.value].astype(dtypes.numpy_dtype(fn.types[w.value].dtype))
    return {o.name: found[o.value] for o in fn.outputs}
