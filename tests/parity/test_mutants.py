"""Subtler wrong answers must fail the operators' own cases: an ignored attribute, a part of a sum, swapped operands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support import casework

from dinoml import operators
from dinoml.ir import dtypes
from dinoml.ir.intexpr import IntExpr
from dinoml.operators import Operator
from dinoml.operators.cases import Case, cases
from dinoml.operators.evaluate import concrete, wide

Array = np.ndarray[Any, Any]

_SAME = {("topk", "sorted")}  # what changes nothing by design: (operator, attribute)


def _inputs(case: Case) -> list[Array | None]:
    arrays = case.arrays()
    given = {name: wide(arrays[name], t.dtype) for name, _, t in case.inputs()}
    if case.operator.spec.variadic:
        return list(given.values())
    return [given.get(i.name) for i in case.operator.spec.inputs]


def _canonical(case: Case) -> dict[str, Any]:
    call = case.operator.call(case.types, case.attrs)
    return {k: concrete(v, case.dims) for k, v in case.operator.own(call.attrs).items()}


def _answers(case: Case, inputs: list[Array | None], attrs: dict[str, Any]) -> tuple[Array, ...]:
    return case.operator.reference(inputs, attrs)


def _passes(case: Case, got: tuple[Array, ...], want: tuple[Array, ...]) -> bool:
    """Return whether a wrong answer would be accepted for every result."""
    t = casework.tolerance(case)
    call = case.operator.call(case.types, case.attrs)
    try:
        stored = [
            (np.asarray(g).astype(dtypes.numpy_dtype(r.dtype)), w, r.dtype) for g, w, r in zip(got, want, case.operator.infer(call), strict=True)
        ]
    except (TypeError, ValueError):
        return False
    return all(not t.message(g, w, dt) for g, w, dt in stored)


def _kinds(op: Operator) -> Iterator[Case]:
    """Yield one case per set of types and attributes, the one with the largest run-time extents."""
    return iter({f"{casework.function_key(c)} {c.special}": c for c in cases(op)}.values())


def _varied(op: Operator) -> list[str]:
    """Return the attributes, dtypes aside, that some case sets to something else than the default."""
    names = set()
    for c in cases(op):
        call, plain = op.call(c.types, c.attrs), {a.name: a.default for a in op.spec.attrs}
        names |= {
            a for a, v in c.attrs.items() if a in plain and not isinstance(v, IntExpr) and repr(plain[a]) not in ("required", repr(call.attrs[a]))
        }
    return sorted(n for n in names if (op.name, n) not in _SAME and next(a.type for a in op.spec.attrs if a.name == n) != "dtype")


ATTRIBUTES = [(n, a) for n in operators.names() for a in _varied(operators.get(n))]


@pytest.mark.parametrize(("name", "attribute"), ATTRIBUTES, ids=[f"{n}-{a}" for n, a in ATTRIBUTES])
def test_an_ignored_attribute_is_noticed(name: str, attribute: str) -> None:
    op = operators.get(name)
    for case in _kinds(op):
        if attribute not in case.attrs:
            continue
        inputs = _inputs(case)
        ignored = Case(op, case.types, {k: v for k, v in case.attrs.items() if k != attribute}, case.dims, case.ranges, case.special)
        try:
            got = _answers(case, inputs, _canonical(ignored))
        except Exception:  # without the attribute the call is not even valid
            return
        if not _passes(case, got, _answers(case, inputs, _canonical(case))):
            return
    pytest.fail(f"{name}: no case notices that {attribute} is ignored")


REDUCING = [n for n in operators.names() if operators.get(n).spec.reduction]


@pytest.mark.parametrize("name", REDUCING)
def test_a_part_of_a_sum_is_noticed(name: str) -> None:
    """Every second element left out (as zero, or as a copy of its neighbour) changes the result beyond the tolerance."""
    op = operators.get(name)
    for case in _kinds(op):
        inputs = _inputs(case)
        want = _answers(case, inputs, _canonical(case))
        first = inputs[0]
        if first is None or first.size < 4 or not first.shape[-1] > 1:
            continue
        halved = first.copy()
        halved[..., 1::2] = first[..., 0::2][..., : first.shape[-1] // 2]
        wrong = [halved, *inputs[1:]]
        if not _passes(case, _answers(case, wrong, _canonical(case)), want):
            return
    pytest.fail(f"{name}: no case notices that every second element is read twice")


PAIRS = [n for n in operators.names() if len(operators.get(n).spec.inputs) >= 2 and not operators.get(n).spec.variadic]
_SYMMETRIC = {
    "add", "mul", "max", "min", "eq", "ne", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "add_layer_norm",
    "clamp",
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in PAIRS if n not in _SYMMETRIC])
def test_swapped_operands_are_noticed(name: str) -> None:
    op = operators.get(name)
    comparable = False
    for case in _kinds(op):
        inputs = _inputs(case)
        if inputs[0] is None or inputs[1] is None or inputs[0].dtype != inputs[1].dtype or inputs[0].ndim < 2:
            continue
        want = _answers(case, inputs, _canonical(case))
        try:
            got = _answers(case, [inputs[1], inputs[0], *inputs[2:]], _canonical(case))
        except Exception:
            continue
        if [g.shape for g in got] != [w.shape for w in want] or not want[0].size:
            continue
        comparable = True
        if not _passes(case, got, want):
            return
    assert not comparable, f"{name}: no case notices swapped operands"
