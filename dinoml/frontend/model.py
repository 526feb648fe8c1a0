"""What a model is written with: TensorSpec, Parameter, Module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dinoml.ir import dtypes, intexpr, shapes
from dinoml.ir.graph import TensorType


@dataclass(frozen=True)
class TensorSpec:
    """Shape and dtype of an input or state; extents are ints, Dims or integer expressions of Dims."""

    shape: Sequence[Any]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", shapes.shape(self.shape, "TensorSpec"))
        object.__setattr__(self, "dtype", dtypes.dtype(self.dtype))

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, tuple(self.shape))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def max_shape(self) -> tuple[int, ...]:
        return tuple(shapes.max_extent(d) for d in self.shape)

    @property
    def numel(self) -> int:
        """The number of elements at the largest extents."""
        return int(np.prod(self.max_shape, dtype=object)) if self.rank else 1

    @property
    def dynamic(self) -> bool:
        return any(not isinstance(d, int) for d in self.shape)


@dataclass(frozen=True)
class MaterializedConstant:
    """A dense array for a constant, with an optional note where it came from."""

    array: Any
    storage: Mapping[str, Any] = field(default_factory=dict)


def array_of(value: Any, dtype: str, what: str, shape: tuple[int, ...] | None = None) -> np.ndarray[Any, Any]:
    """Return a contiguous array of the storage dtype; raise ValueError or TypeError when kind or shape do not fit."""
    if isinstance(value, MaterializedConstant):
        value = value.array
    if hasattr(value, "detach"):  # a PyTorch tensor; bfloat16 has no NumPy form, so its bits travel
        value = value.detach().cpu().contiguous()
        if str(value.dtype) == "torch.bfloat16":
            import torch

            value = value.view(torch.int16).numpy().view(dtypes.numpy_dtype("bfloat16"))
        else:
            value = value.numpy()
    array = np.asarray(value)
    kinds = {"f": "float", "i": "int", "u": "int", "b": "bool"}
    kind = "float" if array.dtype.name == "bfloat16" else kinds.get(array.dtype.kind, array.dtype.name)
    if kind != dtypes.DTYPES[dtype].kind:
        raise TypeError(f"{what} is declared {dtype} but its value has dtype {array.dtype}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{what} is declared {list(shape)} but its value has shape {list(array.shape)}")
    out = np.asarray(array, dtypes.numpy_dtype(dtype))
    if kind == "int" and out.dtype != array.dtype and not np.array_equal(out, array):
        raise ValueError(f"{what} holds integers that do not fit {dtype}")
    return np.ascontiguousarray(out).reshape(array.shape)  # ascontiguousarray makes rank 0 into rank 1


class Parameter:
    """A constant of a model: a shape, or an array that sets shape and value. Tracing names it after its attribute path."""

    def __init__(self, shape: Any, dtype: str | None = None, name: str | None = None, value: Any = None) -> None:
        if isinstance(shape, np.ndarray) or hasattr(shape, "detach") or isinstance(shape, MaterializedConstant):
            if value is not None:
                raise TypeError("Parameter: give an array either first or as value=, not both")
            value, shape = shape, None
        self.name = name
        self.dtype = dtypes.dtype(dtype) if dtype is not None else _natural_dtype(value)
        self.value: Any = None
        self.shape: tuple[int, ...] | None = None
        if shape is not None:
            items = shapes.shape([shape] if hasattr(shape, "__index__") else shape, "Parameter")
            if not all(isinstance(d, int) for d in items):
                raise TypeError(f"Parameter shape {shapes.show(items)} must be fixed; Dims belong to inputs")
            self.shape = tuple(d for d in items if isinstance(d, int))
        if value is not None:
            self.bind(value)

    def bind(self, value: Any) -> Parameter:
        """Set the value and return self; raise TypeError or ValueError when dtype kind or shape do not fit."""
        if hasattr(value, "encoding"):
            self.value = value
            self.shape = tuple(value.shape) if self.shape is None else self.shape
            return self
        array = array_of(value, self.dtype, f"parameter {self.name or ''}".strip(), self.shape)
        self.value, self.shape = array, array.shape
        return self

    @property
    def type(self) -> TensorType:
        assert self.shape is not None
        return TensorType(self.dtype, self.shape)

    @property
    def rank(self) -> int:
        return len(self.type.shape)

    def numel(self) -> int:
        """Return the number of elements."""
        return int(intexpr.product(self.type.shape))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Parameter({self.name or '?'}: {self.type}{'' if self.value is None else ', bound'})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_tensor_of(self), name)

    def __getitem__(self, item: Any) -> Any:
        return _tensor_of(self)[item]


def _natural_dtype(value: Any) -> str:
    if value is None:
        return "float32"
    if isinstance(value, MaterializedConstant):
        value = value.array
    name = str(getattr(value, "dtype", np.asarray(value).dtype)).removeprefix("torch.")
    return "float32" if name == "float64" else dtypes.dtype(name)


def _tensor_of(p: Parameter) -> Any:
    from dinoml.operators.build import current

    b = current.get()
    t = None if b is None else b.lift(p)
    if t is None:
        raise TypeError(f"{p!r} has values only inside a model's forward; trace the model with dinoml.trace")
    return t


def _forward(name: str) -> Any:
    def method(self: Parameter, *args: Any) -> Any:
        return getattr(_tensor_of(self), name)(*args)

    method.__name__ = name
    return method


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul "
    "and rand or ror xor rxor lshift rshift invert neg pos abs eq ne lt le gt ge"
)
for _name in _OPERATORS.split():
    setattr(Parameter, f"__{_name}__", _forward(f"__{_name}__"))
Parameter.__hash__ = object.__hash__  # type: ignore[method-assign]
Parameter.__array_ufunc__ = None  # type: ignore[attr-defined]


def walk(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield (attribute path, object) of a model's parameters and modules, containers included, each path once."""
    if isinstance(value, Parameter):
        yield path, value
        return
    if isinstance(value, Mapping):
        children = [(str(k), v) for k, v in value.items()]
    elif isinstance(value, (list, tuple)):
        children = [(str(i), v) for i, v in enumerate(value)]
    elif _is_module(value):
        yield path, value
        children = [(k, v) for k, v in vars(value).items() if not k.startswith("__")]
        if isinstance(vars(value).get("_modules"), (list, dict)):  # ModuleList and Sequential number their items directly
            items = vars(value)["_modules"]
            numbered = items.items() if isinstance(items, dict) else enumerate(items)
            children = [(str(k), v) for k, v in numbered] + [c for c in children if c[0] != "_modules"]
    else:
        return
    if id(value) in seen:
        return
    for name, child in children:
        yield from walk(child, f"{path}.{name}" if path else name, seen | {id(value)})


def _is_module(value: Any) -> bool:
    return isinstance(value, Module) or (hasattr(value, "forward") and hasattr(value, "__dict__") and not isinstance(value, type))


class Module:
    """A model or a part of one: assign Parameters and Modules to attributes in __init__ and define forward(). No super().__init__() is needed."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs from symbolic tensors."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Yield (attribute path, parameter), a shared parameter once."""
        seen: set[int] = set()
        for path, item in walk(self, "", set()):
            if isinstance(item, Parameter) and id(item) not in seen:
                seen.add(id(item))
                yield path, item

    def parameters(self) -> Iterator[Parameter]:
        """Yield every parameter once."""
        return (p for _, p in self.named_parameters())

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """Yield (attribute path, module), this module first under the empty path."""
        return ((path, m) for path, m in walk(self, "", set()) if isinstance(m, Module))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the direct sub-modules by attribute."""
        return ((k, m) for k, m in vars(self).items() if isinstance(m, Module))

    def children(self) -> Iterator[Module]:
        """Yield the direct sub-modules."""
        return (m for _, m in self.named_children())

    def load_state(self, values: Mapping[str, Any]) -> Module:
        """Bind parameters by path and return self; raise KeyError for paths that do not exist."""
        known = {path: p for path, p in walk(self, "", set()) if isinstance(p, Parameter)}
        unknown = sorted(set(values) - set(known))
        if unknown:
            raise KeyError(f"{type(self).__name__} has no parameters {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        for path, value in values.items():
            known[path].bind(value)
        return self
