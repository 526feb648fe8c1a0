"""Symbolic tensors: what a model's `forward` and a composite's `expand` calculate with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dinoml.ir import intexpr, shapes
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike

if TYPE_CHECKING:
    from dinoml.operators.build import Builder


class Tensor:
    """A value of a graph under construction: dtype, symbolic shape, operators and methods (made from the specs' `sugar`)."""

    __slots__ = ("_name", "builder", "type")
    __array_priority__ = 1000  # NumPy leaves mixed arithmetic to the operators below
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __init__(self, name: str, type: TensorType, builder: Builder) -> None:
        self._name = name
        self.type = type
        self.builder = builder

    @property
    def name(self) -> str:
        """The value's name in the graph."""
        return self._name

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> shapes.Shape:
        """Extents: ints, Dims, or integer expressions of Dims."""
        return self.type.shape

    @property
    def rank(self) -> int:
        return self.type.rank

    ndim = rank

    def numel(self) -> IntLike:
        """Return the number of elements."""
        return intexpr.product(self.shape)

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or one extent."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """Return the rank."""
        return self.rank

    def __repr__(self) -> str:
        return f"Tensor({self.name}: {self.type})"

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no value while the model is traced; use dinoml.ops.where instead of if")

    def __len__(self) -> int:
        if not self.rank or not isinstance(self.shape[0], int):
            raise TypeError(f"{self!r} has no fixed length; use .shape[0]")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        from dinoml.operators import registry

        public = None if name.startswith("__") else registry.index().sugar.get(f"method:{name}")
        if public is None:
            raise AttributeError(f"Tensor has no attribute {name!r}; operators are functions of dinoml.ops")
        return lambda *args, **kwargs: self.builder.invoke(public, (self, *args), kwargs)

    def __dir__(self) -> list[str]:
        from dinoml.operators import registry

        methods = [s.removeprefix("method:") for s in registry.index().sugar if s.startswith("method:")]
        return sorted([*object.__dir__(self), *methods])

    def _sugar(self, key: str, *args: Any) -> Any:
        from dinoml.operators import registry

        sugar = registry.index().sugar
        public = sugar.get(f"{key}:number") if isinstance(args[-1], (int, float)) and args[0] is self else None
        return self.builder.invoke(public or sugar[key], args, {})

    def __getitem__(self, item: Any) -> Tensor:
        from dinoml.operators import indexing

        return indexing.getitem(self, item)

    def __add__(self, other: Any) -> Tensor:
        return self._sugar("__add__", self, other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Tensor:
        return self._sugar("__add__", other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Tensor:
        return self._sugar("__sub__", self, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Tensor:
        return self._sugar("__sub__", other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Tensor:
        return self._sugar("__mul__", self, other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Tensor:
        return self._sugar("__mul__", other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Tensor:
        return self._sugar("__truediv__", self, other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Tensor:
        return self._sugar("__truediv__", other, self)  # type: ignore[no-any-return]

    def __floordiv__(self, other: Any) -> Tensor:
        return self._sugar("__floordiv__", self, other)  # type: ignore[no-any-return]

    def __rfloordiv__(self, other: Any) -> Tensor:
        return self._sugar("__floordiv__", other, self)  # type: ignore[no-any-return]

    def __mod__(self, other: Any) -> Tensor:
        return self._sugar("__mod__", self, other)  # type: ignore[no-any-return]

    def __rmod__(self, other: Any) -> Tensor:
        return self._sugar("__mod__", other, self)  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> Tensor:
        return self._sugar("__pow__", self, other)  # type: ignore[no-any-return]

    def __rpow__(self, other: Any) -> Tensor:
        return self._sugar("__pow__", other, self)  # type: ignore[no-any-return]

    def __matmul__(self, other: Any) -> Tensor:
        return self._sugar("__matmul__", self, other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Tensor:
        return self._sugar("__matmul__", other, self)  # type: ignore[no-any-return]

    def __and__(self, other: Any) -> Tensor:
        return self._sugar("__and__", self, other)  # type: ignore[no-any-return]

    def __rand__(self, other: Any) -> Tensor:
        return self._sugar("__and__", other, self)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Tensor:
        return self._sugar("__or__", self, other)  # type: ignore[no-any-return]

    def __ror__(self, other: Any) -> Tensor:
        return self._sugar("__or__", other, self)  # type: ignore[no-any-return]

    def __xor__(self, other: Any) -> Tensor:
        return self._sugar("__xor__", self, other)  # type: ignore[no-any-return]

    def __rxor__(self, other: Any) -> Tensor:
        return self._sugar("__xor__", other, self)  # type: ignore[no-any-return]

    def __lshift__(self, other: Any) -> Tensor:
        return self._sugar("__lshift__", self, other)  # type: ignore[no-any-return]

    def __rshift__(self, other: Any) -> Tensor:
        return self._sugar("__rshift__", self, other)  # type: ignore[no-any-return]

    def __invert__(self) -> Tensor:
        return self._sugar("__invert__", self)  # type: ignore[no-any-return]

    def __neg__(self) -> Tensor:
        return self._sugar("__neg__", self)  # type: ignore[no-any-return]

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return self._sugar("__abs__", self)  # type: ignore[no-any-return]

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._sugar("__eq__", self, other)  # type: ignore[no-any-return]

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        return self._sugar("__ne__", self, other)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Tensor:
        return self._sugar("__lt__", self, other)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> Tensor:
        return self._sugar("__le__", self, other)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> Tensor:
        return self._sugar("__gt__", self, other)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> Tensor:
        return self._sugar("__ge__", self, other)  # type: ignore[no-any-return]
