"""Checks of one operator application against its spec: attributes, dtypes, limits."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dinoml.ir import dtypes
from dinoml.ir.intexpr import IntExpr
from dinoml.operators.call import OpCall
from dinoml.operators.spec import REQUIRED, AttrSpec


def _sequence(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple, range, np.ndarray)) else (value,)


def _integer(c: OpCall, a: AttrSpec, value: Any) -> int:
    if isinstance(value, IntExpr):
        c.fail(f"{a.name} must be a plain integer, {value} is known only at run time" + (f"; {a.why}" if a.why else ""))
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        c.fail(f"{a.name} must be an integer, got {value!r}")
    return int(value.__index__())


def _size(c: OpCall, a: AttrSpec, value: Any) -> Any:
    return value if isinstance(value, IntExpr) else _integer(c, a, value)


def _float(c: OpCall, a: AttrSpec, value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        c.fail(f"{a.name} must be a number, got {value!r}")
    return float(value)


def _number(c: OpCall, a: AttrSpec, value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (bool, int, float)):
        c.fail(f"{a.name} must be a number, got {value!r}")
    return value


def _axis(c: OpCall, a: AttrSpec, value: Any) -> int:
    dim = _integer(c, a, value)
    rank = (c.input(a.of) if a.of else c.present[0]).rank + a.extra
    if rank == 0:
        c.fail(f"{a.name}={dim}: a tensor of rank 0 has no axis")
    return c.axis(dim, rank)


def _axes(c: OpCall, a: AttrSpec, value: Any) -> tuple[int, ...]:
    rank = (c.input(a.of) if a.of else c.present[0]).rank
    if value is None:
        return tuple(range(rank))
    out = tuple(_axis(c, a, v) for v in _sequence(value))
    if len(set(out)) != len(out):
        c.fail(f"{a.name}={tuple(_sequence(value))} names an axis twice")
    return tuple(sorted(out))


def _repeated(c: OpCall, a: AttrSpec, value: tuple[int, ...]) -> tuple[int, ...]:
    if a.length and len(value) == 1:
        return value * a.length
    if a.length and len(value) != a.length:
        c.fail(f"{a.name}={value} needs {a.length} numbers, or one for all of them")
    return value


def _convert(c: OpCall, a: AttrSpec, value: Any) -> Any:
    match a.type:
        case "float":
            return _float(c, a, value)
        case "number":
            return _number(c, a, value)
        case "int":
            return _integer(c, a, value)
        case "size":
            return _size(c, a, value)
        case "bool":
            if not isinstance(value, (bool, np.bool_)):
                c.fail(f"{a.name} must be True or False, got {value!r}")
            return bool(value)
        case "str":
            if not isinstance(value, str):
                c.fail(f"{a.name} must be a string, got {value!r}")
            return value
        case "dtype":
            try:
                return dtypes.dtype(value)
            except TypeError as e:
                c.fail(f"{a.name}: {e}")
        case "ints":
            return _repeated(c, a, tuple(_integer(c, a, v) for v in _sequence(value)))
        case "floats":
            return tuple(_float(c, a, v) for v in _sequence(value))
        case "shape":
            return tuple(_size(c, a, v) for v in _sequence(value))
        case "axis":
            return _axis(c, a, value)
        case "axes":
            return _axes(c, a, value)
    return value


def _attrs(c: OpCall, given: Mapping[str, Any]) -> dict[str, Any]:
    known = {n: a for a in c.spec.attrs for n in (a.name, *a.also)}
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            c.fail(f"has no attribute {name!r}; it has {', '.join(known) or 'none'}" + (f"; did you mean {near[0]!r}?" if near else ""))
    out: dict[str, Any] = {}
    for a in c.spec.attrs:
        present = [n for n in (a.name, *a.also) if n in given]
        value = given[present[0]] if present else a.default
        if value is None and a.like:
            value = out[a.like]
        if value is REQUIRED:
            c.fail(f"needs the attribute {a.name}")
        if value is not None or a.type == "axes":
            value = _convert(c, a, value)
        elif a.default is not None:
            c.fail(f"{a.name} may not be None")
        if a.choices and value not in a.choices:
            c.fail(f"{a.name}={value!r} is not one of {', '.join(map(repr, a.choices))}" + (f": {a.why}" if a.why else ""))
        out[a.name] = value
    return out


def _types(c: OpCall) -> dict[str, str]:
    """Resolve the type variables: all inputs that share one have the same dtype; nothing is promoted."""
    found: dict[str, tuple[str, str]] = {}
    for i, t in enumerate(c.inputs):
        item = c.spec.inputs[0 if c.spec.variadic else i]
        if t is None:
            if not item.optional:
                c.fail(f"needs the input {item.name!r}")
            continue
        allowed = c.spec.types.get(item.dtype, (item.dtype,))
        if t.dtype not in allowed:
            admits = f"{', '.join(allowed)} {'are' if len(allowed) > 1 else 'is'} accepted"
            c.fail(f"{item.name} has dtype {t.dtype}; {admits}. Convert it with dinoml.ops.cast.")
        if item.dtype in c.spec.types:
            label = f"{item.name}[{i}]" if item.variadic else item.name
            other, dt = found.setdefault(item.dtype, (label, t.dtype))
            if dt != t.dtype:
                c.fail(f"{other} is {dt} and {label} is {t.dtype}; dtypes are not promoted. Convert one with dinoml.ops.cast.")
    return {var: dt for var, (_, dt) in found.items()}


_FUNCTIONS: dict[str, Any] = {f.__name__: f for f in (len, min, max, any, all, zip, isinstance, int, set)} | {"inf": float("inf")}


@cache
def _condition(text: str) -> Any:
    return compile(text, "<limit>", "eval")


def _limits(c: OpCall) -> None:
    if not c.spec.limits:
        return
    names: dict[str, Any] = {**_FUNCTIONS, **c.attrs}
    for i, t in enumerate(c.inputs):
        item = c.spec.inputs[0 if c.spec.variadic else i]
        names[f"rank_{item.name}"] = t.rank if t is not None else -1
        names[f"dtype_{item.name}"] = t.dtype if t is not None else ""
    names["count"] = len(c.inputs)
    for limit in c.spec.limits:
        if eval(_condition(limit.when), {"__builtins__": {}, **names}):
            ranks = ", ".join(f"{i.name}: {t}" for i, t in zip(c.spec.inputs, c.inputs) if t is not None)
            values = ", ".join(f"{k}={v!r}" for k, v in c.attrs.items())
            c.fail(f"{limit.why} (got {'; '.join(p for p in (ranks, values) if p)})")


def check(c: OpCall, given: Mapping[str, Any]) -> OpCall:
    """Return the application with canonical attributes and resolved types; raise OperatorError with the reason otherwise."""
    expected = len(c.spec.inputs)
    if c.spec.variadic:
        if not c.inputs:
            c.fail("needs at least one tensor")
    elif len(c.inputs) != expected:
        c.fail(f"takes {expected} inputs, got {len(c.inputs)}")
    c = replace(c, types=_types(c))
    c = replace(c, attrs=_attrs(c, given))
    _limits(c)
    return c
