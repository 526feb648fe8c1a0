"""The constant program: what is computed from weights alone is computed once and stored.

store_constants asks kernel operators for the stored form of their constant operands (`lower.py: store`), fold_constants moves
everything that depends on constants only into the constant program, whose results are the stored constants.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dinoml.ir import dtypes
from dinoml.ir.graph import Constant, Function, Graph, Node, Output, TensorType, freeze
from dinoml.operators import registry
from dinoml.operators.operator import node_call
from dinoml.passes import rewrite
from dinoml.targets import Target

STORED = "stored!"  # mark on a node: its result must become a stored constant


def constant_values(fn: Function) -> set[str]:
    """Return all values that depend on constants only (at least one) and have static shapes."""
    known = set(fn.constants)
    neutral: set[str] = set()  # no inputs at all, such as a number
    for node in fn.nodes:
        if any(not isinstance(e, int) for o in node.outputs for e in fn.types[o].shape):
            continue
        if not node.uses:
            neutral.update(node.outputs)
        elif all(i in known or i in neutral for i in node.uses):
            (known if any(i in known for i in node.uses) else neutral).update(node.outputs)
    return known


def store_constants(graph: Graph, target: Target) -> Graph:
    """Return the graph with constant operands in the forms that kernels read."""
    return graph.map(lambda fn: _store(fn, target))


def _store(fn: Function, target: Target) -> Function:
    constant = constant_values(fn)
    nodes: list[Node] = []
    types: dict[str, TensorType] = {}
    pinned: set[str] = set()
    for node in fn.nodes:
        op = registry.get(node.op)
        store = getattr(op.lowering, "store", None) if op.kind == "kernel" else None
        flags = tuple(i in constant for i in node.inputs)
        if store is None or not any(flags):
            nodes.append(node)
            continue
        b = rewrite.builder_for(fn, f"{node.id}.", node.source, ())
        inputs = [b.value(i, fn.types[i]) if i else None for i in node.inputs]
        stored = store(node_call(op, node, fn.types), b, inputs, {"target": target, "constant": flags})
        if stored is None:
            nodes.append(node)
            continue
        name, new_inputs, attrs, positions = stored
        made = {o for n in b.nodes for o in n.outputs}
        types.update({k: t for k, t in b.types.items() if k in made})
        inputs_now = tuple("" if t is None else t.name for t in new_inputs)
        nodes += [*b.nodes, replace(node, op=name, inputs=inputs_now, attrs=tuple(sorted((k, freeze(v)) for k, v in attrs.items())))]
        pinned.update(inputs_now[p] for p in positions)
    return _pin(fn.with_nodes(nodes, types), pinned)


def _pin(fn: Function, values: Iterable[str]) -> Function:
    """Mark values that must become stored constants even where they are only views of one."""
    names = set(values)
    return fn.with_nodes(replace(n, attrs=tuple(sorted((*n.attrs, (STORED, True))))) if any(o in names for o in n.outputs) else n for n in fn.nodes)


def fold_constants(graph: Graph, target: Target) -> Graph:
    """Return the graph with constant computations moved into the constant program."""
    program_nodes: dict[str, Node] = {}
    program_types: dict[str, TensorType] = {}
    outputs: dict[str, str] = {}
    functions = []
    for fn in graph.functions:
        fn, moved, types, stored = _fold(fn)
        program_nodes.update({n.id: n for n in moved})
        program_types.update(types)
        outputs.update(stored)
        functions.append(fn)
    sources = {c.name: c.type for c in graph.sources}
    used = {c for f in functions for c in f.constants}
    kept = tuple(c for c in graph.constants if c.name in used)
    made = tuple(Constant(name, program_types[value]) for name, value in outputs.items())
    if not outputs:
        return replace(graph, functions=tuple(functions), constants=kept)
    inputs = tuple(s for s in sources if any(s in n.inputs for n in program_nodes.values()))
    program = Function(
        name="constants",
        inputs=inputs,
        outputs=tuple(Output(name, value) for name, value in outputs.items()),
        nodes=tuple(program_nodes.values()),
        types={**{i: sources[i] for i in inputs}, **program_types},
    )
    return replace(graph, functions=tuple(functions), constants=kept + made, constant_program=program)


def _fold(fn: Function) -> tuple[Function, list[Node], dict[str, TensorType], dict[str, str]]:
    """Return (function, nodes for the program, their types, {stored name: program value})."""
    constant = constant_values(fn)
    pinned = {o for n in fn.nodes if n.attr(STORED) for o in n.outputs}
    fn = fn.with_nodes(replace(n, attrs=tuple(a for a in n.attrs if a[0] != STORED)) for n in fn.nodes)
    views = {o for n in fn.nodes if registry.get(n.op).kind == "view" and not _fills(n) for o in n.outputs}
    wanted: dict[str, None] = {}
    for node in fn.nodes:
        for i in node.uses:
            if i not in constant or i in fn.constants or all(o in constant for o in node.outputs):
                continue
            if i in pinned or not _free(fn, i, views):
                wanted[i] = None
    names, order, types = _structural_names(fn, wanted)
    stored_names = {names[v]: names[v] for v in wanted}
    mapping = {v: names[v] for v in wanted}
    nodes = [rewrite.rename_node(n, mapping) for n in fn.nodes if not all(o in wanted for o in n.outputs)]
    constants = (*fn.constants, *(names[v] for v in wanted))
    new_types = {**fn.types, **{names[v]: fn.types[v] for v in wanted}}
    fn = replace(fn, nodes=tuple(nodes), constants=tuple(dict.fromkeys(constants)), types=new_types)
    live = _needed(fn)
    fn = replace(fn, constants=tuple(c for c in fn.constants if c in live)).with_nodes([n for n in fn.nodes if any(o in live for o in n.outputs)])
    return fn, order, types, stored_names


def _fills(n: Node) -> bool:
    return not n.uses


def _free(fn: Function, value: str, views: set[str]) -> bool:
    """Whether a constant value is only a view of a source, which readers can apply in place."""
    while value not in fn.constants:
        if value not in views:
            return False
        node = fn.producers[value]
        if len(node.uses) != 1:
            return False
        (value,) = node.uses
    return True


def _needed(fn: Function) -> set[str]:
    live = set(fn.results)
    for node in reversed(fn.nodes):
        if any(o in live for o in node.outputs):
            live.update(node.uses)
            live.update(node.outputs)
    return live


def _structural_names(fn: Function, wanted: Iterable[str]) -> tuple[dict[str, str], list[Node], dict[str, TensorType]]:
    """Name every value by what it is computed from, so that functions and layers share equal results."""
    names: dict[str, str] = {}
    digests: dict[str, str] = {}
    order: list[Node] = []
    types: dict[str, TensorType] = {}

    def visit(value: str) -> None:
        if value in names:
            return
        if value in fn.constants:
            names[value] = digests[value] = value
            return
        node = fn.producers[value]
        for i in node.uses:
            visit(i)
        body = repr((node.op, [digests.get(i, "") for i in node.inputs], node.attrs))
        h = hashlib.sha256(body.encode()).hexdigest()
        sources = list(dict.fromkeys(s for i in node.uses for s in names[i].split(":")[0].split("+") if s))
        shown = "+".join(sources[:3]) + ("+…" if len(sources) > 3 else "")
        for k, o in enumerate(node.outputs):
            digests[o] = f"{h}.{k}"
            names[o] = f"{shown}:{node.op}.{h[:8]}" + (f".{k}" if k else "")
            types[names[o]] = fn.types[o]
        first = names[node.outputs[0]]
        order.append(
            Node(first, node.op, tuple(names.get(i, i) for i in node.inputs), tuple(names[o] for o in node.outputs), node.attrs, node.source)
        )

    for v in wanted:
        visit(v)
    return names, order, types


def run_constant_program(graph: Graph, sources: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the stored constants by name, computed with NumPy references (float64 inside, rounded to the stored dtype)."""
    out = {c.name: sources[c.name] for c in graph.constants if c.name in sources}
    program = graph.constant_program
    if program is None:
        return out
    values: dict[str, np.ndarray[Any, Any]] = {i: sources[i] for i in program.inputs}
    for node in program.nodes:
        op = registry.get(node.op)
        call = node_call(op, node, program.types)
        view = op.kind == "view"
        inputs = [None if not i else values[i] if view else _wide(values[i]) for i in node.inputs]
        for name, result in zip(node.outputs, op.reference(inputs, call.attrs)):
            t = program.types[name]
            shape = [e for e in t.shape if isinstance(e, int)]  # constants have static shapes
            values[name] = np.ascontiguousarray(result.astype(dtypes.numpy_dtype(t.dtype))).reshape(shape)
    out.update({o.name: values[o.value] for o in program.outputs})
    return out


def _wide(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x if x.dtype.kind in "iub" else x.astype(np.float64)
