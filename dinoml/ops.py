"""The operators as functions: `dinoml.ops.softmax(x, dim=-1)`. Made on first use from the specs; `ops.pyi` lists them."""

from __future__ import annotations

from typing import Any

from dinoml.ir import intexpr as _intexpr
from dinoml.operators import functions as _functions
from dinoml.operators import registry as _registry


def output(x: Any, name: str = "") -> Any:
    """Return x after naming it as an output of the model; without a name it becomes output_0, output_1…"""
    from dinoml.frontend.tracing import declare_output

    return declare_output(x, name)


def assign(state: Any, value: Any) -> Any:
    """Return the state's tensor after recording that `value` is its content from here on."""
    return state.assign(value)


def size(x: Any, dim: int | None = None) -> Any:
    """Return the shape of a tensor, or one extent."""
    return x.size(dim)


def getitem(value: Any, index: Any) -> Any:
    """Return value[index]; value is a tensor or a Python container."""
    return value[index]


def tuple_construct(*values: Any) -> tuple[Any, ...]:
    """Return the values as a tuple."""
    return values


def list_construct(*values: Any) -> list[Any]:
    """Return the values as a list."""
    return list(values)


int_add = _intexpr.add
int_mul = _intexpr.mul
int_div = _intexpr.floordiv
int_mod = _intexpr.mod
int_min = _intexpr.minimum
int_max = _intexpr.maximum


def int_sub(a: _intexpr.IntLike, b: _intexpr.IntLike) -> _intexpr.IntLike:
    """Return a - b."""
    return _intexpr.add(a, _intexpr.mul(-1, b))


_PLAIN = (
    "assign", "getitem", "int_add", "int_div", "int_max", "int_min", "int_mod", "int_mul", "int_sub", "list_construct", "output", "size",
    "tuple_construct",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        function = _functions.make(name)
    except KeyError as e:
        raise AttributeError(f"dinoml.ops: {e.args[0]}") from None
    globals()[name] = function
    return function


def _public() -> list[str]:
    index = _registry.index()
    return sorted([*_PLAIN, *(n for n, base in index.public.items() if not index.entries[base].internal)])


def __dir__() -> list[str]:
    return _public()
