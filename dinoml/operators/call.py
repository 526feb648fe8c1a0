"""One operator application as the functions of `op.py` see it: typed inputs, checked attributes, errors that name the model's line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from dinoml.ir import expr, graph, intexpr, shapes
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators.spec import OperatorSpec


class OperatorError(ValueError):
    """A use of an operator that its spec refuses; the text names the operator, the value, what is allowed and the model's line."""


@dataclass(frozen=True)
class OpCall:
    """An operator with its inputs' types (None: absent), canonical attributes and, in a graph, the inputs' value names."""

    spec: OperatorSpec
    inputs: tuple[TensorType | None, ...]
    attrs: Mapping[str, Any]
    names: tuple[str, ...] = ()
    id: str = ""
    source: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    label: str = ""  # the public name that the model used

    def __getitem__(self, attr: str) -> Any:
        return self.attrs[attr]

    def fail(self, text: str) -> NoReturn:
        """Raise OperatorError naming the operator and the model's line."""
        where = f" [{self.source}]" if self.source else ""
        raise OperatorError(f"{self.label or self.spec.name}: {text}{where}")

    def position(self, name: str) -> int:
        """Return the place of a named input."""
        return [i.name for i in self.spec.inputs].index(name)

    def has(self, name: str) -> bool:
        """Return whether an optional input is given."""
        return self.inputs[self.position(name)] is not None

    def input(self, which: str | int) -> TensorType:
        """Return the type of an input; fail when it is absent."""
        t = self.inputs[self.position(which) if isinstance(which, str) else which]
        if t is None:
            self.fail(f"needs the input {which!r}")
        return t

    @property
    def present(self) -> tuple[TensorType, ...]:
        """The types of the inputs that are given; for variadic operators all of them."""
        return tuple(t for t in self.inputs if t is not None)

    def axis(self, dim: int, rank: int) -> int:
        """Return a normalised axis; fail when it is outside the rank."""
        try:
            return graph.axis_of(dim, rank, "")
        except ValueError:
            self.fail(f"dim={dim} is outside a tensor of rank {rank}; use {-rank}..{rank - 1}")

    def shape(self, items: Sequence[object], what: str = "shape") -> shapes.Shape:
        """Return a checked shape; fail when an extent is negative or not an integer."""
        try:
            return shapes.shape(items, what)
        except (TypeError, ValueError) as e:
            self.fail(str(e))

    def broadcast(self, *parts: shapes.Shape) -> shapes.Shape:
        """Return the NumPy broadcast of shapes; fail naming the axis that does not fit."""
        out: shapes.Shape = ()
        for part in parts:
            try:
                out = graph.broadcast(out, part, "")
            except ValueError as e:
                self.fail(str(e).removeprefix(": "))
        return out

    def reduced(self, which: str | int, dims: Sequence[int], keepdim: bool) -> shapes.Shape:
        """Return an input's shape without the given axes, or with extent 1 there."""
        shape = self.input(which).shape
        return tuple(1 if i in dims else d for i, d in enumerate(shape) if keepdim or i not in dims)

    def same(self, a: IntLike, b: IntLike, what: str) -> IntLike:
        """Return a, which must equal b; fail otherwise."""
        if a != b:
            self.fail(f"{what}: {a} and {b} differ")
        return a

    def read(self, which: str | int, index: Sequence[IntLike]) -> expr.Read:
        """Return the element of an input at symbolic coordinates."""
        i = self.position(which) if isinstance(which, str) else which
        return expr.Read(self.names[i], self.input(i).dtype, tuple(index))

    def runtime_index(self, which: str | int, index: Sequence[IntLike], extent: IntLike) -> IntLike:
        """Return the integer that an input holds at `index`, clamped to 0 <= value < extent; misses are reported at run time."""
        i = self.position(which) if isinstance(which, str) else which
        return expr.runtime_index(self.read(i, index), extent, self.names[i])

    def broadcast_read(self, which: str | int, index: Sequence[IntLike], shape: shapes.Shape) -> expr.Read:
        """Return an input's element for output coordinates `index` of `shape`, by NumPy broadcasting."""
        t = self.input(which)
        own = index[len(index) - t.rank :]
        full = shape[len(shape) - t.rank :]
        return self.read(which, [0 if d == 1 and e != 1 else i for i, d, e in zip(own, t.shape, full)])

    def extent(self, result: str, capacity: IntLike) -> shapes.Dim:
        """Return the dim that the scalar result `result` holds at run time; buffers are made for `capacity`."""
        name = f"{self.id or self.spec.name}_{result}"
        return shapes.Dim("".join(ch if ch.isalnum() else "_" for ch in name), min=0, max=shapes.max_extent(capacity))


def numel(t: TensorType) -> IntLike:
    """Return the number of elements."""
    return intexpr.product(t.shape)
