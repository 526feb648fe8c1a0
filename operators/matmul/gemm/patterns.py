"""Rewrites of matrix products.

Products of one left operand with several constant right operands become one (the query, key and value of attention); products
over many batch axes become products over two.
"""

from __future__ import annotations

from dataclasses import dataclass

from dinoml.ir import intexpr
from dinoml.ir.graph import Function, Node, TensorType
from dinoml.ir.shapes import Shape
from dinoml.operators import registry
from dinoml.passes import rewrite
from dinoml.passes.constants import constant_values
from dinoml.targets import Target


@dataclass(frozen=True)
class _Part:
    gemm: Node
    bias: str  # "" without one
    result: str


def _part(fn: Function, node: Node, constant: set[str]) -> _Part | None:
    """Return the product with its bias when the right operand is a constant matrix and the result feeds kernels only."""
    b = node.inputs[1]
    if b not in constant or fn.types[b].rank != 2 or node.inputs[0] in constant or node.outputs[0] in fn.results:
        return None
    bias, result = "", node.outputs[0]
    users = fn.consumers.get(result, [])
    if len(users) == 1 and users[0].op == "add":
        (other,) = [i for i in users[0].inputs if i != result] or [""]
        if other in constant and fn.types[other].rank == 1 and users[0].outputs[0] not in fn.results:
            bias, result = other, users[0].outputs[0]
    return _Part(node, bias, result) if _feeds_kernels(fn, result) else None


def _feeds_kernels(fn: Function, value: str) -> bool:
    """Whether every use of a value is a kernel, directly or through views: then a part of a wider result serves as well."""
    users = fn.consumers.get(value, [])
    if not users or value in fn.results:
        return False
    for n in users:
        kind = registry.get(n.op).kind
        if kind == "view" and all(_feeds_kernels(fn, o) for o in n.outputs):
            continue
        if kind != "kernel":
            return False
    return True


def merge_products(fn: Function, target: Target) -> Function:
    """Return the function with the first group of mergeable products merged, or the same object."""
    constant = constant_values(fn)
    groups: dict[tuple[object, ...], list[_Part]] = {}
    for node in fn.nodes:
        if node.op != "gemm":
            continue
        part = _part(fn, node, constant)
        if part is not None:
            k = fn.types[node.inputs[1]].shape[0 if node.attr("b_layout") == "r" else 1]
            groups.setdefault((node.inputs[0], node.attr("a_layout"), node.attr("b_layout"), bool(part.bias), k), []).append(part)
    for parts in groups.values():
        if len(parts) > 1:
            return _merge(fn, parts)
    return fn


def _merge(fn: Function, parts: list[_Part]) -> Function:
    first = parts[0].gemm
    b = rewrite.builder_for(fn, f"{first.id}.merged.", first.source, ())

    def value(name: str):  # type: ignore[no-untyped-def]
        return b.value(name, fn.types[name])

    axis = 1 if first.attr("b_layout") == "r" else 0
    weight = b.concatenate([value(p.gemm.inputs[1]) for p in parts], dim=axis)
    y = b.gemm(value(first.inputs[0]), weight, a_layout=first.attr("a_layout"), b_layout=first.attr("b_layout"))
    if parts[0].bias:
        y = y + b.concatenate([value(p.bias) for p in parts], dim=0)
    names: dict[str, str] = {}
    start = 0
    for p in parts:
        width = fn.types[p.result].shape[-1]
        names[p.result] = b.slice(y, (0,) * (y.rank - 1) + (start,), (*y.shape[:-1], start + width)).name
        start = start + width
    gone = {p.gemm.id for p in parts} | {fn.producers[p.result].id for p in parts}
    nodes: list[Node] = []
    for n in fn.nodes:
        if n.id == first.id:
            nodes += b.nodes
        if n.id not in gone:
            nodes.append(rewrite.rename_node(n, names))
    made = {o for n in b.nodes for o in n.outputs}
    return _sorted(fn.with_nodes(nodes, {k: t for k, t in b.types.items() if k in made}))


def _sorted(fn: Function) -> Function:
    """Return the function with nodes in dependency order (constants of later layers may be defined after the merged product)."""
    ready = {*fn.inputs, *fn.constants, *fn.states}
    made = {o for n in fn.nodes for o in n.outputs}
    waiting, nodes = list(fn.nodes), []
    while waiting:
        rest = []
        for n in waiting:
            if all(i in ready or i not in made for i in n.uses):
                nodes.append(n)
                ready.update(n.outputs)
            else:
                rest.append(n)
        if len(rest) == len(waiting):
            raise AssertionError("merging products made a cycle")
        waiting = rest
    return fn.with_nodes(nodes)


def join_batches(fn: Function, target: Target) -> Function:
    """Return the function with products over more than two batch axes as products over at most two, which is what kernels loop over.

    Neighbouring axes that the operands share in the same way become one; where they alternate, both operands are expanded.
    """
    nodes: list[Node] = []
    names: dict[str, str] = {}
    types: dict[str, TensorType] = {}
    for node in fn.nodes:
        result = node.outputs[0]
        batch = fn.types[result].shape[:-2] if node.op == "gemm" else ()
        if sum(e != 1 for e in batch) <= 2:
            nodes.append(rewrite.rename_node(node, names))
            continue
        b = rewrite.builder_for(fn, f"{node.id}.joined.", node.source, ())
        operands = [b.value(names.get(i, i), fn.types[i]) for i in node.inputs]
        groups = _batch_groups(batch, [t.shape[:-2] for t in operands])
        if len(groups) > 2:
            groups = [tuple(range(len(batch)))]
            operands = [b.expand(t, (*batch, *t.shape[-2:])) for t in operands]
        joined = []
        for t in operands:
            own = (1,) * (len(batch) - len(t.shape) + 2) + t.shape[:-2]
            joined.append(b.reshape(t, (*(intexpr.product(own[i] for i in g) for g in groups), *t.shape[-2:])))
        y = b.reshape(b.gemm(*joined, a_layout=node.attr("a_layout"), b_layout=node.attr("b_layout")), fn.types[result].shape)
        names[result] = y.name
        nodes += b.nodes
        types.update({o: b.types[o] for n in b.nodes for o in n.outputs})
    return rewrite.rename_results(fn.with_nodes(nodes, types), names) if names else fn


def _batch_groups(batch: Shape, owns: list[Shape]) -> list[tuple[int, ...]]:
    """Return the batch axes in runs along which each operand either has all extents or none."""
    groups: list[tuple[int, ...]] = []
    last: tuple[bool, ...] = ()
    for axis, full in enumerate(batch):
        if full == 1:
            continue
        places = [axis - len(batch) + len(own) for own in owns]
        has = tuple(p >= 0 and own[p] == full for p, own in zip(places, owns))
        if groups and has == last:
            groups[-1] += (axis,)
        else:
            groups.append((axis,))
        last = has
    return groups


PATTERNS = (merge_products, join_batches)
