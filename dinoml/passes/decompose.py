"""Replacing composite operators by what they are made of."""

from __future__ import annotations

from dataclasses import replace

from dinoml.ir.graph import Function, Graph, Node, Output, TensorType
from dinoml.operators import registry
from dinoml.operators.operator import node_call
from dinoml.passes import rewrite
from dinoml.targets import Target


def decompose(graph: Graph, target: Target) -> Graph:
    """Return the graph without composite operators."""
    return graph.map(_function)


def _function(fn: Function) -> Function:
    while any(registry.get(n.op).kind == "composite" for n in fn.nodes):
        fn = _once(fn)
    return fn


def _once(fn: Function) -> Function:
    nodes: list[Node] = []
    types: dict[str, TensorType] = {}
    names: dict[str, str] = {}
    for node in fn.nodes:
        node = rewrite.rename_node(node, names)
        op = registry.get(node.op)
        if op.kind != "composite":
            nodes.append(node)
            continue
        b = rewrite.builder_for(fn, f"{node.id}.", node.source, ())
        b.types.update(types)
        inputs = [b.value(i, types.get(i) or fn.types[i]) if i else None for i in node.inputs]
        call = node_call(op, node, {**fn.types, **types})
        results = op.expand(call, b, inputs)
        nodes += b.nodes
        made = {o for n in b.nodes for o in n.outputs}
        types.update({k: t for k, t in b.types.items() if k in made})
        names.update({old: new.name for old, new in zip(node.outputs, results)})
    fn = rewrite.rename_results(fn.with_nodes(nodes, types), names)
    return _outputs_own_buffers(fn)


def _outputs_own_buffers(fn: Function) -> Function:
    """A composite may return its input or one value twice; such outputs get an identity."""
    seen: set[str] = set()
    b = rewrite.builder_for(fn, "output.", "", [])
    names: dict[int, str] = {}
    for i, o in enumerate(fn.outputs):
        if o.value in seen or o.value in fn.inputs or o.value in fn.constants or o.value in fn.states:
            names[i] = b.invoke(registry.role("copy"), (b.value(o.value, fn.types[o.value]),), {}).name
        seen.add(o.value)
    if not names:
        return fn
    outputs = tuple(Output(o.name, names.get(i, o.value)) for i, o in enumerate(fn.outputs))
    return replace(fn.with_nodes([*fn.nodes, *b.nodes], {o: b.types[o] for n in b.nodes for o in n.outputs}), outputs=outputs)
