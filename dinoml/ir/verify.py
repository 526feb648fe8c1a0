"""The verifier: what must hold for every graph, checked after every pass. Errors name function, node and value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dinoml.ir import dtypes, intexpr, shapes
from dinoml.ir.graph import Function, Graph, Node, TensorType


class VerifyError(ValueError):
    """A graph that breaks a rule of the IR; the text lists every broken rule."""


def verify(graph: Graph, infer: Callable[[Function, Node], tuple[TensorType, ...]] | None = None) -> None:
    """Check topology, types, names, states and constants of a graph; raise VerifyError listing all problems.

    `infer(function, node)` recomputes the types of a node's results from its operator; None skips that check.
    """
    problems: list[str] = []
    names = [f.name for f in graph.functions]
    problems += [f"two functions are named {n!r}" for n in sorted({n for n in names if names.count(n) > 1})]
    for kind, items in (("constant", graph.constants), ("source constant", graph.sources), ("state", graph.states)):
        seen = [i.name for i in items]
        problems += [f"two {kind}s are named {n!r}" for n in sorted({n for n in seen if seen.count(n) > 1})]
    try:
        graph.dims  # noqa: B018 - reports one name with two meanings
    except ValueError as e:
        problems.append(str(e))
    constants = {c.name: c.type for c in graph.constants}
    for fn in graph.functions:
        problems += [f"function {fn.name}: {p}" for p in _function(fn, constants, {s.name: s.type for s in graph.states}, infer)]
    problems += _constant_program(graph, infer)
    if problems:
        raise VerifyError(f"graph {graph.name!r} is not valid:\n  " + "\n  ".join(problems))


def _constant_program(graph: Graph, infer: Callable[[Function, Node], tuple[TensorType, ...]] | None) -> list[str]:
    sources = {c.name: c.type for c in graph.sources}
    program = graph.constant_program
    made = {o.name for o in program.outputs} if program else set()
    out = [
        f"constant {c.name!r} is neither a source nor made by the constant program"
        for c in graph.constants
        if c.name not in sources and c.name not in made
    ]
    if program:
        out += [f"constant program: input {i!r} is not a source constant" for i in program.inputs if i not in sources]
        out += [f"constant program: {p}" for p in _function(program, {}, {}, infer)]
    return out


def _function(fn: Function, constants: dict[str, TensorType], states: dict[str, TensorType], infer: Any) -> list[str]:
    out: list[str] = []
    defined: dict[str, str] = {}

    def define(name: str, what: str) -> None:
        if name in defined:
            out.append(f"value {name!r} is defined by {defined[name]} and again by {what}")
        elif name not in fn.types:
            out.append(f"value {name!r} of {what} has no type")
        defined[name] = what

    for i in fn.inputs:
        define(i, "the inputs")
    for c in fn.constants:
        define(c, "the constants")
        if c not in constants:
            out.append(f"constant {c!r} does not exist in the graph")
        elif c in fn.types and fn.types[c] != constants[c]:
            out.append(f"constant {c!r} has type {fn.types[c]} here and {constants[c]} in the graph")
    for value, state in fn.states.items():
        define(value, f"state {state!r}")
        if state not in states:
            out.append(f"value {value!r} reads state {state!r}, which does not exist")
        elif value in fn.types and fn.types[value] != states[state]:
            out.append(f"state {state!r} has type {states[state]}, value {value!r} {fn.types[value]}")
    ids: set[str] = set()
    for node in fn.nodes:
        what = f"node {node.id} ({node.op}{', ' + node.source if node.source else ''})"
        if node.id in ids:
            out.append(f"two nodes have the id {node.id!r}")
        ids.add(node.id)
        for i in node.uses:
            if i not in defined:
                later = any(i in n.outputs for n in fn.nodes)
                out.append(f"{what} uses {i!r}, which {'is made only later' if later else 'nothing defines'}")
        for o in node.outputs:
            define(o, what)
        out += _types(fn, node, what, infer)
    out += _results(fn, states, defined)
    return out


def _types(fn: Function, node: Node, what: str, infer: Any) -> list[str]:
    out = []
    for v in (*node.uses, *node.outputs):
        t = fn.types.get(v)
        if t is None:
            continue
        if t.dtype not in dtypes.DTYPES:
            out.append(f"{what}: {v!r} has the unknown dtype {t.dtype!r}")
        for axis, e in enumerate(t.shape):
            if intexpr.bounds(e)[0] < 0 or not shapes.opaque_free(e):
                out.append(f"{what}: axis {axis} of {v!r} is {e}, which is not a valid extent")
    if infer is None or any(v not in fn.types for v in (*node.uses, *node.outputs)):
        return out
    try:
        want = infer(fn, node)
    except Exception as e:  # the operator's own refusal is the message
        return [*out, f"{what}: {e}"]
    if len(want) != len(node.outputs):
        return [*out, f"{what} has {len(node.outputs)} results, its operator gives {len(want)}"]
    for v, w in zip(node.outputs, want):
        if fn.types[v] != w and not _same_up_to_extents(fn, fn.types[v], w):
            out.append(f"{what}: result {v!r} is recorded as {fn.types[v]}, its operator gives {w}")
    return out


def _same_up_to_extents(fn: Function, a: TensorType, b: TensorType) -> bool:
    """Data-dependent dims are named by the node that made them, so a re-inferred one may carry another name."""
    if a.dtype != b.dtype or a.rank != b.rank:
        return False
    return all(x == y or (isinstance(x, shapes.Dim) and x.name in fn.extents) for x, y in zip(a.shape, b.shape))


def _results(fn: Function, states: dict[str, TensorType], defined: dict[str, str]) -> list[str]:
    out = []
    names = [o.name for o in fn.outputs]
    out += [f"two outputs are named {n!r}" for n in sorted({n for n in names if names.count(n) > 1})]
    values = [o.value for o in fn.outputs]
    out += [f"value {v!r} is output twice; put an identity between" for v in sorted({v for v in values if values.count(v) > 1})]
    for o in fn.outputs:
        if o.value not in defined:
            out.append(f"output {o.name!r} is {o.value!r}, which nothing defines")
        elif o.value in fn.inputs or o.value in fn.constants or o.value in fn.states:
            out.append(f"output {o.name!r} is {defined[o.value]} themselves; put an identity between, outputs own their buffers")
    written: set[str] = set()
    for w in fn.writes:
        if w.state not in states:
            out.append(f"writes state {w.state!r}, which does not exist")
        elif w.value in fn.types and fn.types[w.value].dtype != states[w.state].dtype:
            out.append(f"state {w.state!r} holds {states[w.state]}, but {fn.types[w.value]} is written")
        if w.value not in defined:
            out.append(f"state {w.state!r} is written with {w.value!r}, which nothing defines")
        if w.state in written:
            out.append(f"state {w.state!r} is written twice; only the last value can remain")
        written.add(w.state)
    for dim, value in fn.extents.items():
        t = fn.types.get(value)
        if t is None or t.dtype != "int64" or t.shape != ():
            out.append(f"extent {dim!r} must be held by an int64 scalar, got {value!r}: {t}")
    return out
