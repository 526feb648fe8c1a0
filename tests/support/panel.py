"""Kernel operators between neighbours: what is fused into their loads and stores, and what they also store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dinoml import TensorSpec, ops
from dinoml.ir import dtypes
from dinoml.operators import Operator
from dinoml.operators.cases import Case
from dinoml.operators.evaluate import concrete
from support import casework
from support.samples import Sample

BEFORE = ("chain", "broadcast", "cast", "permuted", "padded")
AFTER = ("bias_relu", "residual", "several", "view")


@dataclass(frozen=True)
class Input:
    """How one operand is made: the spec and array of what the function takes, and the model's way from there."""

    spec: TensorSpec
    array: np.ndarray[Any, Any]
    make: Any


def panel(op: Operator, every: bool) -> Iterator[Sample]:
    """Yield fused samples of a kernel operator: half of all combinations for each case, or each neighbour once for two cases."""
    chosen = [c for c in casework.compiled(op) if not c.special and any(t is not None and t.rank for t in c.types)]
    for i, case in enumerate(chosen if every else _spread(chosen)):
        for j, before in enumerate(BEFORE):
            for k, after in enumerate(AFTER):
                if (i + j + k) % (2 if every else len(AFTER)) == 0:
                    yield fused(case, before, after)


def _spread(chosen: list[Case]) -> list[Case]:
    """Return one case with fixed extents and one with run-time extents, each function once."""
    functions = {casework.function_key(c): c for c in chosen if not c.dims}
    small = [c for c in functions.values() if 0 not in [e for t in c.types if t for e in t.shape]]
    moving = [c for c in chosen if c.dims and all(v > 0 for v in c.dims.values())]
    return small[1:2] + moving[-1:] if moving and len(small) > 1 else small[:2] + moving[-1:]


def fused(case: Case, before: str, after: str) -> Sample:
    """Return a sample in which the operator's inputs are computed in one way and its results used in another."""
    arrays = case.arrays()
    inputs = {name: _input(case, name, spec.values, TensorSpec(t.shape, t.dtype), arrays[name], before) for name, spec, t in case.inputs()}
    results = [TensorSpec(t.shape, t.dtype) for t in _result_types(case)]
    extra = _extra(case, results, after)

    def model(**tensors: Any) -> Any:
        made = {name: i.make(tensors[name]) for name, i in inputs.items()}
        out = casework.apply(case, made)
        beside = {k: v for k, v in tensors.items() if k not in inputs and not k.startswith("carry_")}
        answer = {f"y{i}": v for n, t in enumerate(out) for i, v in enumerate(_after(t, after, beside, n), 10 * n)}
        if after == "several":
            answer |= {f"side_{name}": ops.identity(v) for name, v in made.items()}
        return answer

    specs = {name: i.spec for name, i in inputs.items()} | {k: s for k, (s, _) in extra.items()}
    values = {name: i.array for name, i in inputs.items()} | {k: a for k, (_, a) in extra.items()}
    label = f"{case.operator.name} {case.label} {before} {after}"
    accuracy = replace(casework.tolerance(case, roundings=4), row_axis=-2 if after == "view" else -1)
    return Sample(label, model, specs, values, case.dims, accuracy, f"{casework.function_key(case)} {before} {after}")


def _result_types(case: Case) -> list[Any]:
    call = case.operator.call(case.types, case.attrs)
    return [t for t, o in zip(case.operator.infer(call), case.operator.spec.outputs) if not o.extent]


def _input(case: Case, name: str, values: str, spec: TensorSpec, array: np.ndarray[Any, Any], before: str) -> Input:
    plain = Input(spec, array, lambda t: t)
    kind = dtypes.DTYPES[spec.dtype].kind
    rank = len(spec.shape)
    if rank == 0 or values.startswith("index:"):
        return plain
    match before:
        case "permuted":
            order = tuple(reversed(range(rank)))
            return Input(TensorSpec(spec.shape[::-1], spec.dtype), np.ascontiguousarray(array.transpose(order)), lambda t: ops.permute(t, order))
        case "broadcast" if spec.shape[0] != 1:
            short = np.ascontiguousarray(array[:1]) if len(array) else np.ones((1, *array.shape[1:]), array.dtype)
            return Input(TensorSpec([1, *spec.shape[1:]], spec.dtype), short, lambda t: ops.expand(t, spec.shape))
        case "padded" if isinstance(spec.shape[-1], int) and spec.shape[-1] > 2:
            n = spec.shape[-1]
            return Input(TensorSpec([*spec.shape[:-1], n - 2], spec.dtype), np.ascontiguousarray(array[..., : n - 2]), lambda t: ops.pad(t, (1, 1)))
        case "cast" if kind == "float":
            other = "float16" if spec.dtype == "float32" else "float32"
            return Input(TensorSpec(spec.shape, other), array.astype(dtypes.numpy_dtype(other)), lambda t: ops.cast(t, spec.dtype))
        case "chain" if kind == "float" and values == "coarse":  # exact, so that equal elements stay equal
            return Input(spec, array, lambda t: ops.relu(t * 2.0 + 1.0) - 1.0)
        case "chain" if kind == "float":
            return Input(spec, array, lambda t: ops.exp(-ops.abs(t)) + t * 0.5)
        case "chain" if kind == "int":
            return Input(spec, array, lambda t: ops.max(t, t * 2))
        case "chain" if kind == "bool":
            return Input(spec, array, lambda t: ~t)
    return plain


def _extra(case: Case, results: list[TensorSpec], after: str) -> dict[str, tuple[TensorSpec, np.ndarray[Any, Any]]]:
    """Return the further inputs of the epilogues: a bias over the last axis, a residual."""
    rng = np.random.default_rng(7)
    out: dict[str, tuple[TensorSpec, np.ndarray[Any, Any]]] = {}
    for n, r in enumerate(results):
        if dtypes.DTYPES[r.dtype].kind != "float" or not r.shape or _grows(case):
            continue
        wanted = {"bias_relu": r.shape[-1:], "residual": r.shape}.get(after)
        if wanted is not None:
            array = rng.uniform(-1, 1, concrete(tuple(wanted), case.dims)).astype(dtypes.numpy_dtype(r.dtype))
            out[f"{after}{n}"] = (TensorSpec(wanted, r.dtype), array)
    return out


def _grows(case: Case) -> bool:
    return any(o.extent for o in case.operator.spec.outputs)


def _after(y: Any, after: str, beside: Mapping[str, Any], n: int) -> list[Any]:
    kind = dtypes.DTYPES[y.dtype].kind
    if kind == "bool":
        return [~y] if after != "view" else [ops.cast(y, "float32")]
    if kind == "int":
        return [y + 1] if after != "several" else [y + 1, ops.cast(y, "float32") * 0.5]
    if after in ("bias_relu", "residual") and f"{after}{n}" in beside:
        other = beside[f"{after}{n}"]
        return [ops.relu(y + other) + 1.0] if after == "bias_relu" else [y * 0.5 + other]
    if after == "several":
        return [y, ops.abs(y), ops.cast(y * 2.0, "float16" if y.dtype == "float32" else y.dtype)]
    if after == "view" and y.rank >= 2:
        return [ops.permute(ops.sigmoid(y), (*range(1, y.rank), 0))]
    return [ops.relu(y) + 1.0]
