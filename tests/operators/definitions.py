"""Runs a function by what its operators define: expressions for pointwise operators and views, references for kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dinoml import operators
from dinoml.ir import dtypes, intexpr
from dinoml.ir.graph import Function, Node
from dinoml.lowering.execute import Evaluator
from dinoml.lowering.inline import flatten
from dinoml.operators.build import Builder
from dinoml.operators.evaluate import bind_dims, concrete, run_node, wide
from dinoml.operators.operator import node_call


def expand(fn: Function) -> Function:
    """Return the function without composites."""
    while any(operators.get(n.op).kind == "composite" for n in fn.nodes):
        b = Builder(prefix="x.", taken=[n.id for n in fn.nodes])
        names: dict[str, str] = {}
        values = {v: b.value(v, fn.types[v]) for v in (*fn.inputs, *fn.constants, *fn.states)}
        for node in fn.nodes:
            op = operators.get(node.op)
            inputs = [values[names.get(i, i)] if i else None for i in node.inputs]
            call = node_call(op, node, fn.types)
            results = op.expand(call, b, inputs) if op.kind == "composite" else b.apply(op, inputs, dict(node.attrs))
            for old, new in zip(node.outputs, results, strict=True):
                names[old] = new.name
                values[new.name] = new
        outputs = tuple(type(o)(o.name, names.get(o.value, o.value)) for o in fn.outputs)
        extents = b.extents
        fn = Function(fn.name, fn.inputs, outputs, tuple(b.nodes), dict(b.types), fn.constants, fn.states, fn.writes, extents)
    return fn


def _defined(fn: Function, node: Node, values: Mapping[str, np.ndarray[Any, Any]], env: Mapping[str, int]) -> list[np.ndarray[Any, Any]]:
    op = operators.get(node.op)
    t = fn.types[node.outputs[0]]
    index = tuple(intexpr.Symbol(f"c{i}", extent=d) for i, d in enumerate(t.shape))
    shape = concrete(t.shape, env)
    out = []
    for e in op.define(node_call(op, node, fn.types), index):
        value = Evaluator(values, env, shape, False)(flatten(e, fn.types.__getitem__))
        with np.errstate(all="ignore"):
            out.append(np.broadcast_to(value, shape).astype(dtypes.numpy_dtype(t.dtype)))
    return out


def run(fn: Function, arrays: Mapping[str, np.ndarray[Any, Any]], dims: Mapping[str, int]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the outputs in their storage dtypes, every intermediate value stored."""
    env = dict(dims) | bind_dims(fn.types, {i: arrays[i] for i in fn.inputs})
    values: dict[str, np.ndarray[Any, Any]] = dict(arrays)
    sizes = {v: d for d, v in fn.extents.items()}
    for node in fn.nodes:
        if operators.get(node.op).kind in ("pointwise", "view"):
            results = _defined(fn, node, values, env)
        else:
            known = {i: wide(values[i], fn.types[i].dtype) for i in node.uses}
            pairs = zip(node.outputs, run_node(node, fn.types, known, env), strict=True)
            results = [r.astype(dtypes.numpy_dtype(fn.types[o].dtype)) for o, r in pairs]
        for name, r in zip(node.outputs, results, strict=True):
            values[name] = r
            if name in sizes:
                env[sizes[name]] = int(r)
    return {o.name: values[o.value] for o in fn.outputs}
