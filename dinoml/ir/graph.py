"""Graphs: functions of typed nodes in SSA form that share constants and states.

All classes are frozen; passes build new ones. A value is named by a string, unique in its function; constants keep their own
names in every function that uses them. Order of nodes is execution order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dinoml.ir import dtypes, intexpr, shapes
from dinoml.ir.shapes import Dim, Shape


@dataclass(frozen=True)
class TensorType:
    """Dtype and symbolic shape of a value."""

    dtype: str
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> intexpr.IntLike:
        """Number of elements."""
        return intexpr.product(self.shape)

    @property
    def nbytes(self) -> intexpr.IntLike:
        """Bytes of the contiguous tensor."""
        return intexpr.mul(self.numel, dtypes.nbytes(self.dtype))

    def __str__(self) -> str:
        return f"{self.dtype}{shapes.show(self.shape)}"


Attrs = tuple[tuple[str, Any], ...]


def freeze(value: Any) -> Any:
    """Return a hashable form of an attribute value: lists become tuples, numpy scalars Python ones."""
    if isinstance(value, (list, tuple)):
        return tuple(freeze(v) for v in value)
    if isinstance(value, dict):
        return tuple(sorted((k, freeze(v)) for k, v in value.items()))
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    return value


@dataclass(frozen=True)
class Node:
    """One operator application. `inputs` holds value names, "" for an optional input that is absent."""

    id: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Attrs = ()
    source: str = ""  # "file:line" in the model

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute or the default."""
        return dict(self.attrs).get(name, default)

    @property
    def uses(self) -> tuple[str, ...]:
        """The inputs that are present."""
        return tuple(i for i in self.inputs if i)


@dataclass(frozen=True)
class Output:
    """A public result: `name` is the user's, `value` the function's."""

    name: str
    value: str


@dataclass(frozen=True)
class StateWrite:
    """At the end of the function, `value` becomes the content of `state`."""

    state: str
    value: str


@dataclass(frozen=True)
class Function:
    """A typed straight-line program. `states` maps value names to the states whose content they hold on entry.

    `extents` maps the name of a data-dependent dim to the int64 scalar value that holds it; such a dim's `max` is the
    capacity of every buffer that has it.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[Output, ...]
    nodes: tuple[Node, ...]
    types: Mapping[str, TensorType]
    constants: tuple[str, ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    writes: tuple[StateWrite, ...] = ()
    extents: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def producers(self) -> dict[str, Node]:
        """The node that makes each value."""
        return {o: n for n in self.nodes for o in n.outputs}

    @cached_property
    def consumers(self) -> dict[str, list[Node]]:
        """The nodes that use each value, in order."""
        out: dict[str, list[Node]] = {}
        for n in self.nodes:
            for i in dict.fromkeys(n.uses):
                out.setdefault(i, []).append(n)
        return out

    @cached_property
    def results(self) -> frozenset[str]:
        """Values that leave the function: outputs, state writes, extents."""
        return frozenset([o.value for o in self.outputs] + [w.value for w in self.writes] + list(self.extents.values()))

    def with_nodes(self, nodes: Iterable[Node], types: Mapping[str, TensorType] | None = None) -> Function:
        """Return the function over other nodes; types of values that are gone are dropped."""
        nodes = tuple(nodes)
        merged = {**self.types, **(types or {})}
        alive = {*self.inputs, *self.constants, *self.states, *(o for n in nodes for o in n.outputs)}
        return replace(self, nodes=nodes, types={k: v for k, v in merged.items() if k in alive})


@dataclass(frozen=True)
class Constant:
    """A named constant. `encoding` is "dense" or the name of a stored form that a decoding accessor reads."""

    name: str
    type: TensorType
    encoding: str = "dense"


@dataclass(frozen=True)
class State:
    """A session buffer that functions read and write; its type has the maximal shape."""

    name: str
    type: TensorType


@dataclass(frozen=True)
class Graph:
    """Functions that share dims, constants and states.

    `sources` are the constants as the model named them, `constants` those that functions read. `constant_program` computes
    the constants that are not sources: its inputs are sources, its outputs constants.
    """

    name: str
    functions: tuple[Function, ...]
    constants: tuple[Constant, ...] = ()
    sources: tuple[Constant, ...] = ()
    states: tuple[State, ...] = ()
    constant_program: Function | None = None

    @cached_property
    def dims(self) -> dict[str, Dim]:
        """All dims by name, in a stable order."""
        items = [e for f in self.functions for t in f.types.values() for e in t.shape]
        return dict(sorted(shapes.dims_of(*items).items()))

    def function(self, name: str) -> Function:
        """Return a function by name; raise KeyError naming those that exist."""
        for f in self.functions:
            if f.name == name:
                return f
        raise KeyError(f"graph {self.name!r} has no function {name!r}; it has {', '.join(f.name for f in self.functions)}")

    def map(self, fn: Any) -> Graph:
        """Return the graph with fn applied to each function."""
        return replace(self, functions=tuple(fn(f) for f in self.functions))


def axis_of(dim: int, rank: int, what: str) -> int:
    """Return a normalised axis; raise ValueError when it is outside the rank."""
    if not -rank <= dim < rank:
        raise ValueError(f"{what}: dim={dim} is outside a tensor of rank {rank}; use {-rank}..{rank - 1}")
    return dim % rank if rank else 0


def broadcast(a: Shape, b: Shape, what: str) -> Shape:
    """Return the NumPy broadcast of two shapes; raise ValueError naming the axis that does not fit."""
    rank = max(len(a), len(b))
    full_a, full_b = (1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)
    out: list[intexpr.IntLike] = []
    for axis, (x, y) in enumerate(zip(full_a, full_b)):
        if x == y or y == 1:
            out.append(x)
        elif x == 1:
            out.append(y)
        else:
            raise ValueError(f"{what}: shapes {shapes.show(a)} and {shapes.show(b)} do not broadcast (axis {axis}: {x} against {y})")
    return tuple(out)
