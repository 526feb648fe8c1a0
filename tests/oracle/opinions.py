"""Puts one case of an operator to PyTorch and to the operator's own reference, both in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch_calls import CALLS

from dinoml.compare import compare
from dinoml.operators.cases import Case
from dinoml.operators.evaluate import concrete, wide
from dinoml.operators.spec import REQUIRED

Array = np.ndarray[Any, Any]
NARROW = ("float16", "bfloat16")
# Both sides calculate in float64, so a thousandth of a float32 rounding is enough: PyTorch's group_norm, with a variance of squares
# minus the square of the mean, loses the most of those 7 digits.
TIGHT = 1e-3


def is_exact(case: Case) -> bool:
    """Return whether the case is worth asking about: narrow floats hold the same numbers and only repeat what float32 shows."""
    return all(t is None or t.dtype not in NARROW for t in case.types)


def attributes(case: Case) -> dict[str, Any]:
    """Return the attributes as the user writes them, with the spec's defaults and run-time extents as numbers."""
    given = {a.name: a.default for a in case.operator.spec.attrs if a.default is not REQUIRED} | dict(case.attrs)
    return {k: concrete(v, case.dims) for k, v in given.items()}


def inputs(case: Case) -> list[Array | None]:
    """Return the inputs in the spec's order, floats as float64."""
    arrays = case.arrays()
    given = {name: wide(arrays[name], t.dtype) for name, _, t in case.inputs()}
    return list(given.values()) if case.operator.spec.variadic else [given.get(i.name) for i in case.operator.spec.inputs]


def reference(case: Case, values: list[Array | None]) -> tuple[Array, ...]:
    """Return what the operator's reference says, from canonical attributes."""
    call = case.operator.call(case.types, case.attrs)
    return case.operator.reference(values, {k: concrete(v, case.dims) for k, v in call.attrs.items()})


def opinion(call: Callable[..., Any], values: list[Array | None], attrs: dict[str, Any], variadic: bool = False) -> tuple[Array, ...]:
    """Return what PyTorch says, as arrays."""
    tensors = [None if v is None else torch.from_numpy(np.array(v)) for v in values]
    out = call(tensors, **attrs) if variadic else call(*tensors, **attrs)
    return tuple(t.numpy() for t in (out if isinstance(out, (tuple, list)) else (out,)))


def differences(got: tuple[Array, ...], want: tuple[Array, ...], exact: bool) -> list[str]:
    """Return one line for each result that differs in kind, shape or value."""
    if len(got) != len(want):
        return [f"{len(want)} results instead of {len(got)}"]
    out = []
    for i, (a, w) in enumerate(zip(got, want)):
        if a.dtype != w.dtype:
            out.append(f"result {i}: PyTorch gives {w.dtype}, the reference {a.dtype}")
            continue
        dtype = "float32" if a.dtype.kind == "f" else a.dtype.name
        r = compare(a, w, dtype=dtype, exact=exact, limit_override=TIGHT)
        out += [f"result {i}: {r.message} (got: reference, want: PyTorch)"] if not r else []
    return out


def disagreement(case: Case) -> str:
    """Return where PyTorch and the reference differ on a case, nothing where they agree."""
    values = inputs(case)
    want = opinion(CALLS[case.operator.name], values, attributes(case), case.operator.spec.variadic)
    found = differences(reference(case, values), want, case.operator.kind == "view")
    return f"{case.operator.name} {case.label}: {'; '.join(found)}" if found else ""
