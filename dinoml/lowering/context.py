"""What fusion and lowering ask about nodes: their operators' definitions, forms and traits, cached per node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dinoml.ir import dtypes, intexpr
from dinoml.ir import expr as ex
from dinoml.ir.expr import Expr, Read
from dinoml.ir.graph import Function, Graph, Node
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.fit import coefficient
from dinoml.lowering.forms import Form, Load
from dinoml.lowering.inline import flatten
from dinoml.lowering.rows import declared_form
from dinoml.operators import registry
from dinoml.operators.call import OpCall
from dinoml.operators.operator import Operator, node_call
from dinoml.targets import Target

NARROW = ("float16", "bfloat16")


class LoweringContext:
    """Answers questions about the nodes of one graph for one target."""

    def __init__(self, graph: Graph, target: Target) -> None:
        self.graph, self.target = graph, target
        self._calls: dict[tuple[str, str], OpCall] = {}
        self._definitions: dict[tuple[str, str, tuple[IntLike, ...]], tuple[Expr, ...]] = {}

    def operator(self, node: Node) -> Operator:
        return registry.get(node.op)

    def call(self, fn: Function, node: Node) -> OpCall:
        key = (fn.name, node.id)
        if key not in self._calls:
            self._calls[key] = node_call(self.operator(node), node, fn.types)
        return self._calls[key]

    def is_kernel(self, node: Node) -> bool:
        return self.operator(node).kind == "kernel"

    def is_view(self, node: Node) -> bool:
        return self.operator(node).kind == "view"

    def selects(self, fn: Function, node: Node) -> bool:
        """Whether a view evaluates several of its inputs (or a fill) for each element, as concatenation and padding do."""
        if not self.is_view(node):
            return False
        index = tuple(intexpr.Symbol(f"x{i}", extent=e) for i, e in enumerate(fn.types[node.outputs[0]].shape))
        return any(isinstance(e, ex.Select) for e in ex.walk(self.define(fn, node, node.outputs[0], index)))

    def define(self, fn: Function, node: Node, value: str, index: tuple[IntLike, ...]) -> Expr:
        """Return the expression of one result of a pointwise or view node at an index.

        A node that makes a narrower float from wider ones converts on purpose: its value is rounded even where it is never stored.
        """
        key = (fn.name, node.id, index)
        if key not in self._definitions:
            self._definitions[key] = self.operator(node).define(self.call(fn, node), index)
        x = self._definitions[key][node.outputs.index(value)]
        storage = fn.types[value].dtype
        narrows = storage in NARROW and any(fn.types[i].dtype != storage and dtypes.DTYPES[fn.types[i].dtype].kind == "float" for i in node.uses)
        return ex.Round(x, storage) if narrows and x.dtype == "float32" else x

    def place(self, fn: Function, node: Node, i: int, value: str, index: tuple[IntLike, ...]) -> tuple[IntLike, ...] | None:
        """Return where element `index` of input i lands in `value` when the node maps that input one to one."""
        op = self.operator(node)
        if op.kind == "pointwise":
            same = fn.types[node.inputs[i]].shape == fn.types[value].shape
            return index if same and node.inputs.count(node.inputs[i]) >= 1 else None
        return op.place(self.call(fn, node), i, index) if op.kind == "view" else None

    def form(self, fn: Function, node: Node) -> Form:
        """Return the kernel form that the node's operator gives."""
        op = self.operator(node)
        if op.lowering is None and op.spec.kernel:
            return declared_form(self.call(fn, node))
        if op.lowering is None:
            raise KeyError(f"{op.name} has no lower.py, so no target can run it yet; `dinoml ops show {op.name}` lists what exists")
        form = op.lowering.lower(self.call(fn, node), self.traits(fn, node))
        assert isinstance(form, Form)
        return form

    def traits(self, fn: Function, node: Node) -> dict[str, Any]:
        """Return what lower() may ask beyond types: the target, which inputs are constants, the results' types."""
        return {
            "target": self.target,
            "constant": tuple(i in fn.constants for i in node.inputs),
            "results": tuple(fn.types[o] for o in node.outputs),
        }

    def must_inline(self, fn: Function, node: Node, value: str) -> bool:
        """Whether even the unfused build computes a value in place: it has no tensor input of its own."""
        return not node.uses

    def raw_read(self, fn: Function, port: Load, is_expr: Callable[[str], bool], forced: set[str], fuse: bool) -> Read:
        """Follow views from a raw port down to the buffer it can read in place."""
        read = Read(port.value, fn.types[port.value].dtype, port.index, port.guard)
        while fuse and is_expr(read.source) and read.source not in forced and read.source not in fn.results:
            node = fn.producers[read.source]
            if not self.is_view(node):
                break
            inner = self.define(fn, node, read.source, read.index)
            if not isinstance(inner, Read) or inner.guard or inner.storage != read.storage:
                break
            if any(isinstance(a, intexpr.Opaque) for i in inner.index for a in intexpr.atoms(i)):
                break
            read = inner
        return read

    def affine(self, fn: Function, read: Read, port: Load) -> tuple[IntLike, dict[intexpr.Symbol, IntLike]] | None:
        """Return (base offset, stride per coordinate) of a raw read over the port's coordinates, None when not affine."""
        flat = flatten(read, fn.types.__getitem__)
        assert isinstance(flat, Read)
        rest: IntLike = flat.index[0]
        if any(isinstance(a, intexpr.Opaque) for a in intexpr.atoms(rest)):
            return None
        strides: dict[intexpr.Symbol, IntLike] = {}
        for s in _symbols(port, rest):
            k = coefficient(rest, s)
            if k is None:
                return None
            strides[s] = k
        for s, k in strides.items():
            rest = intexpr.add(rest, intexpr.mul(-1, intexpr.mul(k, s)))
        return (rest, strides) if not read.guard else None


def _symbols(port: Load, offset: IntLike) -> list[intexpr.Symbol]:
    return sorted((s for s in intexpr.symbols(offset) if s.extent is not None), key=lambda s: s.name)
