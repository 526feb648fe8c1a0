"""Python signatures of the public functions, made from specs, and the binding of arguments to inputs and attributes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any

from dinoml.operators.registry import Public, public
from dinoml.operators.spec import REQUIRED, AttrSpec, InputSpec
from dinoml.operators.value import Tensor

_ANNOTATIONS = {
    "float": "float", "int": "int", "bool": "bool", "str": "str", "number": "int | float | bool", "dtype": "str",
    "ints": "int | Sequence[int]", "floats": "float | Sequence[float]", "size": "IntLike", "shape": "IntLike | Sequence[IntLike]",
    "axis": "int", "axes": "int | Sequence[int]", "any": "Any",
}  # fmt: skip
_GATHERS = ("ints", "shape", "axes")  # attributes that take surplus positional integers: x.permute(0, 2, 1)


@dataclass(frozen=True)
class Slot:
    """One parameter of a public function."""

    name: str
    item: InputSpec | AttrSpec
    default: Any
    keyword_only: bool = False

    @property
    def annotation(self) -> str:
        if isinstance(self.item, InputSpec):
            base = "Sequence[TensorLike]" if self.item.variadic else "TensorLike"
        else:
            base = _ANNOTATIONS[self.item.type]
        return f"{base} | None" if self.default is None else base


def _slot(p: Public, item: InputSpec | AttrSpec, keyword_only: bool) -> Slot:
    if isinstance(item, AttrSpec):
        return Slot(item.name, item, item.default, keyword_only)
    required = not item.optional or (p.alias is not None and p.alias.inputs is not None)
    return Slot(item.name, item, REQUIRED if required else None, keyword_only)


@cache
def slots(name: str) -> tuple[Slot, ...]:
    """Return the parameters of a public function in order."""
    p = public(name)
    spec, alias = p.operator.spec, p.alias
    fixed = alias.attrs if alias else {}
    shown = alias.inputs if alias and alias.inputs is not None else [i.name for i in spec.inputs]
    items: dict[str, InputSpec | AttrSpec] = {i.name: i for i in spec.inputs if i.name in shown}
    items |= {a.name: a for a in spec.attrs if a.name not in fixed}
    order = spec.signature or ([i.name for i in spec.inputs] + [a.name for a in spec.attrs])
    out: list[Slot] = []
    keyword_only = False
    for n in order:
        if n == "*":
            keyword_only = True
        elif n in items:
            slot = _slot(p, items[n], keyword_only)
            late = slot.default is REQUIRED and any(s.default is not REQUIRED for s in out)
            out.append(Slot(slot.name, slot.item, slot.default, keyword_only or late))
    return tuple(out)


def signature(name: str) -> inspect.Signature:
    """Return the Python signature of a public function."""
    kinds = {False: inspect.Parameter.POSITIONAL_OR_KEYWORD, True: inspect.Parameter.KEYWORD_ONLY}
    ordered = sorted(slots(name), key=lambda s: s.keyword_only)
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(s.name, kinds[s.keyword_only], default=empty if s.default is REQUIRED else s.default, annotation=s.annotation)
            for s in ordered
        ],
        return_annotation=returns(name),
    )


def returns(name: str) -> str:
    """Return the annotation of a public function's result."""
    outputs = [o for o in public(name).operator.spec.outputs if not o.extent]
    if any(o.variadic for o in outputs):
        return "tuple[Tensor, ...]"
    return "Tensor" if len(outputs) == 1 else f"tuple[{', '.join(['Tensor'] * len(outputs))}]"


@dataclass(frozen=True)
class Bound:
    """Arguments of one call: raw input values (None: absent) in the spec's order, and attributes."""

    inputs: list[Any]
    attrs: dict[str, Any]


def bind(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
    """Return the arguments by role; raise TypeError naming the signature when they do not fit."""
    p = public(name)
    params = slots(name)
    positional = [s for s in params if not s.keyword_only]
    values: dict[str, Any] = {}
    if positional and isinstance(positional[0].item, InputSpec) and positional[0].item.variadic and args and isinstance(args[0], Tensor):
        count = sum(1 for _ in _leading_tensors(args))  # meshgrid(x, y) as well as meshgrid([x, y])
        args = (list(args[:count]), *args[count:])
    if len(args) > len(positional):
        last = positional[-1].item if positional else None
        if not (isinstance(last, AttrSpec) and last.type in _GATHERS):
            raise TypeError(f"{name}{signature(name)} takes at most {len(positional)} positional arguments, got {len(args)}")
        args = (*args[: len(positional) - 1], tuple(args[len(positional) - 1 :]))
    values.update(zip((s.name for s in positional), args))
    inputs = {s.name for s in params if isinstance(s.item, InputSpec)}
    attrs: dict[str, Any] = dict(p.alias.attrs) if p.alias else {}
    for key, value in kwargs.items():
        if key in values:
            raise TypeError(f"{name}() got {key!r} twice; its signature is {name}{signature(name)}")
        values[key] = value
    for s in params:
        if s.default is REQUIRED and s.name not in values and not any(a in values for a in getattr(s.item, "also", ())):
            raise TypeError(f"{name}() needs {s.name!r}; its signature is {name}{signature(name)}")
    attrs.update({k: v for k, v in values.items() if k not in inputs})
    spec = p.operator.spec
    if spec.variadic:
        return Bound(list(values[spec.inputs[0].name]), attrs)
    return Bound([values.get(i.name) if i.name in inputs else None for i in spec.inputs], attrs)


def _leading_tensors(args: tuple[Any, ...]) -> list[Any]:
    out = []
    for a in args:
        if not isinstance(a, Tensor):
            break
        out.append(a)
    return out
