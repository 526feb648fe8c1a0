"""Removing what is not needed: dead nodes, equal nodes."""

from __future__ import annotations

from dataclasses import replace

from dinoml.ir.graph import Function, Graph, Node
from dinoml.passes import rewrite
from dinoml.targets import Target


def dead_code(graph: Graph, target: Target) -> Graph:
    """Return the graph without nodes that reach no result, without constants and sources that nothing reads."""
    functions = tuple(_live(f) for f in graph.functions)
    used = {c for f in functions for c in f.constants}
    constants = tuple(c for c in graph.constants if c.name in used)
    program = graph.constant_program
    if program:
        program = _live(replace(program, outputs=tuple(o for o in program.outputs if o.name in used)))
        program = program if program.outputs else None
    needed = {c.name for c in constants} | (set(program.inputs) if program else set())
    return replace(
        graph, functions=functions, constants=constants, constant_program=program, sources=tuple(s for s in graph.sources if s.name in needed)
    )


def _live(fn: Function) -> Function:
    live = set(fn.results)
    nodes: list[Node] = []
    for node in reversed(fn.nodes):
        if any(o in live for o in node.outputs):
            nodes.append(node)
            live.update(node.uses)
    is_program = not fn.constants and fn.name == "constants"
    inputs = tuple(i for i in fn.inputs if i in live) if is_program else fn.inputs
    fn = replace(fn, inputs=inputs, constants=tuple(c for c in fn.constants if c in live))
    return fn.with_nodes(reversed(nodes))


def common_subexpressions(graph: Graph, target: Target) -> Graph:
    """Return the graph with equal nodes (operator, inputs, attributes) merged."""
    return graph.map(_merge)


def _merge(fn: Function) -> Function:
    seen: dict[tuple[object, ...], Node] = {}
    names: dict[str, str] = {}
    nodes: list[Node] = []
    # A value that is output stays a value of its own: outputs own their buffers.
    public = {o.value for o in fn.outputs}
    for node in fn.nodes:
        node = rewrite.rename_node(node, names)
        # repr, because 1, 1.0 and True are equal but not the same attribute
        key = (node.op, node.inputs, repr(node.attrs), fn.types[node.outputs[0]])
        first = seen.get(key)
        if first is None or any(o in public for o in node.outputs) or any(o in fn.extents.values() for o in node.outputs):
            seen.setdefault(key, node)
            nodes.append(node)
        else:
            names.update(dict(zip(node.outputs, first.outputs)))
    return rewrite.rename_results(fn.with_nodes(nodes), names)
