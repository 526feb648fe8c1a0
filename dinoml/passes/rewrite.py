"""Renaming and rebuilding functions: small helpers that several passes share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dinoml.ir.graph import Function, Node, Output, StateWrite, TensorType
from dinoml.operators.build import Builder


def rename_node(node: Node, names: Mapping[str, str]) -> Node:
    """Return the node reading renamed values."""
    inputs = tuple(names.get(i, i) for i in node.inputs)
    return node if inputs == node.inputs else replace(node, inputs=inputs)


def rename_results(fn: Function, names: Mapping[str, str]) -> Function:
    """Return the function with outputs, writes and extents pointing to renamed values."""
    return replace(
        fn,
        outputs=tuple(Output(o.name, names.get(o.value, o.value)) for o in fn.outputs),
        writes=tuple(StateWrite(w.state, names.get(w.value, w.value)) for w in fn.writes),
        extents={d: names.get(v, v) for d, v in fn.extents.items()},
    )


def builder_for(fn: Function, prefix: str, source: str, inputs: Iterable[str]) -> Builder:
    """Return a builder whose nodes fit into `fn`: names are fresh, `inputs` are its values."""
    taken = {n.id for n in fn.nodes} | set(fn.types)
    b = Builder(prefix=prefix, source=source, taken=tuple(taken))
    for i in inputs:
        if i:
            b.value(i, fn.types[i])
    return b


def rename_outputs(nodes: Iterable[Node], types: dict[str, TensorType], names: Mapping[str, str]) -> tuple[list[Node], dict[str, TensorType]]:
    """Return nodes with both results and uses renamed, and the types under the new names."""
    out = [replace(n, inputs=tuple(names.get(i, i) for i in n.inputs), outputs=tuple(names.get(o, o) for o in n.outputs)) for n in nodes]
    return out, {names.get(k, k): t for k, t in types.items()}
