"""Samples made from operators' cases: as they are, and inside fused neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dinoml import TensorSpec
from dinoml.ir import shapes
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntExpr
from dinoml.ir.shapes import Dim
from dinoml.operators import Operator
from dinoml.operators.build import current
from dinoml.operators.cases import Case, cases
from support.samples import CARRIED, Sample, Tolerance


def matrix(op: Operator) -> list[Case]:
    """Return the operator's cases with dims renamed so that all of them fit into one graph."""
    return [_renamed(c) for c in cases(op)]


def _renamed(c: Case) -> Case:
    known: dict[str, Dim] = {}
    for item in (*(e for t in c.types if t is not None for e in t.shape), *c.attrs.values()):
        for d in _dims(item):
            known[d.name] = Dim(f"{d.name}_{d.lo}_{d.hi}", d.lo, d.hi, divisible_by=d.divisible_by)
    CARRIED.update({d.name: d for d in known.values()})
    types = tuple(None if t is None else TensorType(t.dtype, tuple(_swap(e, known) for e in t.shape)) for t in c.types)
    return replace(
        c,
        types=types,
        attrs={k: _swap(v, known) for k, v in c.attrs.items()},
        dims={known[k].name if k in known else k: v for k, v in c.dims.items()},
    )


def _dims(value: Any) -> Iterator[Dim]:
    if isinstance(value, IntExpr):
        yield from shapes.dims_of(value).values()
    elif isinstance(value, (tuple, list)):
        for v in value:
            yield from _dims(v)


def _swap(value: Any, known: Mapping[str, Dim]) -> Any:
    from dinoml.ir import intexpr

    if isinstance(value, IntExpr):
        return intexpr.substitute(value, lambda s: known.get(s.name))
    return tuple(_swap(v, known) for v in value) if isinstance(value, (tuple, list)) else value


def apply(case: Case, tensors: Mapping[str, Any]) -> tuple[Any, ...]:
    """Apply the case's operator to symbolic tensors and return its visible results."""
    builder = next(iter(tensors.values())).builder if tensors else current.get()
    args: tuple[Any, ...] = (list(tensors.values()),) if case.operator.spec.variadic else ()
    kwargs = {} if case.operator.spec.variadic else dict(tensors)
    out = builder.invoke(case.operator.name, args, {**kwargs, **case.attrs})
    return out if isinstance(out, tuple) else (out,)


def specs(case: Case) -> dict[str, TensorSpec]:
    """Return the case's inputs."""
    return {name: TensorSpec(t.shape, t.dtype) for name, _, t in case.inputs()}


def tolerance(case: Case, roundings: int = 1) -> Tolerance:
    """Return how the case's results are compared."""
    spec = case.operator.spec
    limits = {k: float(v) for k, v in spec.tolerance.items() if k != "why"}
    return Tolerance(case.reduction_length(), limits, exact=case.operator.kind == "view" and roundings == 1, roundings=roundings)


def plain(case: Case) -> Sample:
    """Return the case as it is."""

    def model(**tensors: Any) -> Any:
        own = {k: v for k, v in tensors.items() if not k.startswith("carry_")}
        return {f"y{i}": t for i, t in enumerate(apply(case, own))}

    return Sample(f"{case.operator.name} {case.label}", model, specs(case), case.arrays(), case.dims, tolerance(case), function_key(case))


def function_key(case: Case) -> str:
    """Return a key that cases share when only their run-time extents differ."""
    return repr((case.operator.name, [str(t) for t in case.types], sorted((k, _shown(v)) for k, v in case.attrs.items())))


def _shown(v: Any) -> str:
    return str(v) if isinstance(v, IntExpr) else repr([_shown(x) for x in v]) if isinstance(v, (tuple, list)) else repr(v)


def compiled(op: Operator) -> list[Case]:
    """Return the cases worth compiling: every shape with one dtype, the dtypes in turn; special values and tails with every dtype.

    That each dtype's index maps are right is checked without a compiler; code differs by dtype in loads, stores and functions.
    """
    groups: dict[str, list[Case]] = {}
    for c in matrix(op):
        groups.setdefault(_undyed(c), []).append(c)
    out: list[Case] = []
    for i, group in enumerate(groups.values()):
        by_dtypes: dict[str, list[Case]] = {}
        for c in group:
            by_dtypes.setdefault(_dtypes(c), []).append(c)
        kinds = list(by_dtypes)
        every = group[0].special or (i == 0 and not any(g[0].special for g in groups.values()))
        for kind in kinds if every else kinds[i % len(kinds) :][:1]:
            out += by_dtypes[kind]
    return out


def _dtypes(c: Case) -> str:
    return ",".join("-" if t is None else t.dtype for t in c.types)


def _undyed(c: Case) -> str:
    return repr(([None if t is None else str(t.shape) for t in c.types], sorted((k, _shown(v)) for k, v in c.attrs.items()), c.special))
