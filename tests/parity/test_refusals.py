"""Every limit of every spec refuses something, and says why in the spec's words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest

from dinoml import operators
from dinoml.ir import dtypes
from dinoml.ir.graph import TensorType
from dinoml.operators import Operator, OperatorError
from dinoml.operators.cases import cases

Types = tuple[TensorType | None, ...]
LIMITED = [n for n in operators.names() if operators.get(n).spec.limits]
_POOL: dict[str, list[Any]] = {
    "int": [-7, -1, 0, 1, 2, 3, 5, 100], "size": [-7, -1, 0, 1, 2, 3, 5, 100], "bool": [True, False], "dtype": list(dtypes.DTYPES),
    "float": [-2.0, -1.0, 0.0, 2.0, math.inf, math.nan], "number": [-1, 0, 2, 1.5, True, math.inf], "axis": [-1, 0, 1, 2], "axes": [None, 0, (0, 1)],
    "ints": [(), (0,), (-1,), (1,), (2,), (0, 1), (1, 2), (2, 2), (5, 5), (1, 1, 1), (-1, -1), (9, 9, 9, 9)],
    "str": ["", "x", "rrr", "abc"],
    "shape": [(), (0,), (-1,), (4,), (2, 2), (-1, -1), (1, 2, 3)],
}  # fmt: skip


def _shapes(t: TensorType) -> Iterator[TensorType]:
    for rank in range(7):
        yield TensorType(t.dtype, (2,) * rank)
    yield TensorType(t.dtype, t.shape[1:])
    for dt in dtypes.DTYPES:
        yield TensorType(dt, t.shape)


def _types(types: Types) -> Iterator[Types]:
    for i, t in enumerate(types):
        for other in _shapes(t) if t is not None else ():
            yield (*types[:i], other, *types[i + 1 :])
        yield (*types[:i], None, *types[i + 1 :])
    for rank in range(7):
        yield tuple(None if t is None else TensorType(t.dtype, (2,) * rank) for t in types)
    yield types[:1]
    yield (*types[:1], *(None for _ in types[1:]))
    yield types * 2


def _attrs(op: Operator, attrs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    choices = {a.name: [*a.choices, *_POOL.get(a.type, []), None] for a in op.spec.attrs}
    for name, values in choices.items():
        for v in values:
            yield {**attrs, name: v}
    for (a, left), (b, right) in itertools.combinations(choices.items(), 2):
        for v, w in itertools.product(left, right):
            yield {**attrs, a: v, b: w}


def _attempts(op: Operator) -> Iterator[tuple[Types, dict[str, Any]]]:
    seen: set[str] = set()
    for c in cases(op):
        key = repr((len(c.types), sorted(c.attrs)))
        if key in seen:
            continue
        seen.add(key)
        base = dict(c.attrs)
        changed = list(_types(c.types))
        yield from ((t, base) for t in changed)
        for a in _attrs(op, base):
            yield c.types, a
        for a in itertools.islice(_attrs(op, base), 40):
            yield from ((t, a) for t in changed)


@pytest.mark.parametrize("name", LIMITED)
def test_every_limit_refuses_with_its_reason(name: str) -> None:
    op = operators.get(name)
    missing = {x.why for x in op.spec.limits}
    for types, attrs in _attempts(op):
        if not missing:
            break
        try:
            op.call(types, attrs)
        except OperatorError as e:
            missing -= {why for why in missing if str(e).startswith(f"{name}: {why}")}
    assert not missing, f"{name}: nothing that was tried is refused because {sorted(missing)}"


@pytest.mark.parametrize("name", operators.names())
def test_other_dtypes_are_refused(name: str) -> None:
    op = operators.get(name)
    case = next(iter(cases(op)))
    for i, t in enumerate(case.types):
        item = op.spec.inputs[0 if op.spec.variadic else i]
        allowed = op.spec.types.get(item.dtype, (item.dtype,))
        for dt in set(dtypes.DTYPES) - set(allowed) if t is not None else ():
            wrong = (*case.types[:i], TensorType(dt, t.shape), *case.types[i + 1 :])  # type: ignore[union-attr]
            with pytest.raises(OperatorError, match=f"dtype {dt}"):
                op.call(wrong, case.attrs)


@pytest.mark.parametrize("name", [n for n in operators.names() if operators.get(n).spec.attrs])
def test_unknown_attributes_are_refused(name: str) -> None:
    op = operators.get(name)
    case = next(iter(cases(op)))
    with pytest.raises(OperatorError, match="has no attribute 'colour'"):
        op.call(case.types, {**case.attrs, "colour": 1})
