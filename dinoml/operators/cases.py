"""The test matrix of an operator, made from its spec: shapes, attributes, dtypes, run-time extents, value ranges."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dinoml.ir import dtypes
from dinoml.ir.graph import Graph, TensorType
from dinoml.ir.shapes import Dim
from dinoml.operators.call import OperatorError
from dinoml.operators.evaluate import concrete
from dinoml.operators.operator import Operator
from dinoml.operators.spec import REQUIRED, InputSpec

Array = np.ndarray[Any, Any]
_KEYS = ("attrs", "dims", "ranges", "special", "dtypes", "inputs", "why")
_UNARY: tuple[list[Any], ...] = ([3, 5], [17], [], [0, 4], [2, 3, 33], ["n", 7])
_BROADCAST: tuple[list[list[Any]], ...] = (
    [[3, 5], [3, 5], [3, 5]], [[2, 3, 5], [5], [3, 1]], [[4, 1], [1, 6], []], [[], [7], [7]], [[0, 5], [5], [1, 5]], [["n", 5], [5], ["n", 1]],
)  # fmt: skip
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e4, -1e4, 1e-6)


@dataclass(frozen=True)
class Case:
    """One point of the matrix: types with symbolic extents, attributes, and the run-time extents to try."""

    operator: Operator
    types: tuple[TensorType | None, ...]
    attrs: Mapping[str, Any]
    dims: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[str, Any] = field(default_factory=dict)
    special: bool = False

    @property
    def label(self) -> str:
        """A readable name, stable as long as the case stays the same."""
        shapes = ",".join("-" if t is None else str(t).replace(" ", "") for t in self.types)
        parts = [shapes] + [f"{k}={v}" for k, v in self.attrs.items()] + [f"{k}:{v}" for k, v in self.dims.items()] + ["special"] * self.special
        return " ".join(parts).replace(" ", "_") or "plain"

    def inputs(self) -> list[tuple[str, InputSpec, TensorType]]:
        """Return (value name, spec, type) of the inputs that are given."""
        spec = self.operator.spec
        if spec.variadic:
            return [(f"{spec.inputs[0].name}{i}", spec.inputs[0], t) for i, t in enumerate(self.types) if t is not None]
        return [(s.name, s, t) for s, t in zip(spec.inputs, self.types) if t is not None]

    def graph(self) -> Graph:
        """Return a graph with one node for the operator and one output y0, y1… for each result."""
        from dinoml.frontend.model import TensorSpec
        from dinoml.frontend.tracing import trace

        spec = self.operator.spec

        def model(**tensors: Any) -> Any:
            args: tuple[Any, ...] = (list(tensors.values()),) if spec.variadic else ()
            kwargs = {} if spec.variadic else tensors
            builder = next(iter(tensors.values())).builder if tensors else _current()
            out = builder.invoke(self.operator.name, args, {**kwargs, **self.attrs})
            return {f"y{i}": t for i, t in enumerate(out if isinstance(out, tuple) else (out,))}

        inputs = {name: TensorSpec(t.shape, t.dtype) for name, _, t in self.inputs()}
        return trace(model, inputs=inputs, name=spec.name).graph

    def arrays(self, seed: int = 0) -> dict[str, Array]:
        """Return deterministic input arrays in their storage dtypes."""
        rng = np.random.default_rng([seed, zlib.crc32(f"{self.operator.name} {self.label}".encode())])
        shapes = {name: concrete(t.shape, self.dims) for name, _, t in self.inputs()}
        return {name: self._array(rng, name, s, t, shapes) for name, s, t in self.inputs()}

    def _array(self, rng: np.random.Generator, name: str, spec: InputSpec, t: TensorType, shapes: Mapping[str, tuple[int, ...]]) -> Array:
        shape, kind = shapes[name], dtypes.DTYPES[t.dtype].kind
        if spec.values.startswith("index:"):
            return rng.integers(0, max(self._extent(spec.values, shapes), 1), shape).astype(t.dtype)
        if kind == "bool":
            share = {"mostly true": 0.97, "mostly false": 0.03}.get(spec.values, 0.5)
            return np.asarray(rng.random(shape) < share)
        if spec.values == "coarse":
            return rng.integers(-3, 4, shape).astype(dtypes.numpy_dtype(t.dtype)) if not self.special else self._special(rng, shape, t)
        low, high = self.ranges.get(name) or spec.range or ((-3, 3) if kind == "float" else (-50, 50))
        if kind == "int":
            return rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, shape).astype(t.dtype)
        return self._special(rng, shape, t) if self.special else np.asarray(rng.uniform(low, high, shape).astype(dtypes.numpy_dtype(t.dtype)))

    def _special(self, rng: np.random.Generator, shape: tuple[int, ...], t: TensorType) -> Array:
        x = rng.uniform(-3, 3, shape).astype(dtypes.numpy_dtype(t.dtype))
        if dtypes.DTYPES[t.dtype].kind == "float" and x.size:
            where = rng.permutation(x.size)[: len(_SPECIAL)]
            x.reshape(-1)[where] = np.asarray(_SPECIAL[: len(where)]).astype(x.dtype)
        return np.asarray(x)

    def _extent(self, rule: str, shapes: Mapping[str, tuple[int, ...]]) -> int:
        _, what, *axis = rule.split(":")
        if not axis:
            return int(what)
        which = axis[0]
        return shapes[what][int(which) if which.lstrip("-").isdigit() else int(self.attrs[which])]

    def reduction_length(self) -> int:
        """Return how many elements are accumulated for one of the result, 0 where nothing is."""
        text = self.operator.spec.reduction
        if not text:
            return 0
        call = self.operator.call(self.types, self.attrs)
        names: dict[str, Any] = {k: concrete(v, self.dims) for k, v in call.attrs.items()}
        for s, t in zip(self.operator.spec.inputs, self.types):
            names[f"shape_{s.name}"] = concrete(t.shape, self.dims) if t is not None else ()
        allowed = {"prod": lambda items: int(np.prod(list(items), dtype=np.int64)), "max": max, "len": len}
        return int(eval(text, {"__builtins__": {}, **allowed, **names}))


def _current() -> Any:
    from dinoml.operators.build import current

    return current.get()


def _common(op: Operator) -> list[dict[str, Any]]:
    """Return the cases that every pointwise operator gets without writing them."""
    spec = op.spec
    if op.kind != "pointwise" or any(a.default is REQUIRED for a in spec.attrs) or any(i.optional for i in spec.inputs):
        return []
    if len(spec.inputs) > 1:
        return [{i.name: s for i, s in zip(spec.inputs, shapes)} for shapes in _BROADCAST]
    (only,) = spec.inputs
    out: list[dict[str, Any]] = [{only.name: s} for s in _UNARY]
    if only.range is None and not only.values:
        out.append({only.name: [4, 5], "special": True})
    return out


def _accepted(case: Case) -> bool:
    try:
        case.operator.call(case.types, case.attrs)
    except OperatorError:
        return False
    return True


def _assignments(raw: Mapping[str, Any]) -> list[dict[str, int]]:
    dims = raw.get("dims") or {}
    count = max((len(v) for v in dims.values()), default=0)
    return [{k: v[min(i, len(v) - 1)] for k, v in dims.items()} for i in range(count)] if dims else [{}]


def _types(op: Operator, raw: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield assignments of the type variables: every dtype of the longest, the others in turn."""
    sets = {var: list(names) for var, names in op.spec.types.items()}
    for var, dt in (raw.get("dtypes") or {}).items():
        sets[var] = [dt]
    count = max((len(v) for v in sets.values()), default=1)
    for i in range(count):
        chosen = {var: names[i % len(names)] for var, names in sets.items()}
        yield chosen


def _shape(items: Sequence[Any], dims: Mapping[str, Dim]) -> tuple[Any, ...]:
    return tuple(dims[d] if isinstance(d, str) else d for d in items)


def _symbolic(value: Any, dims: Mapping[str, Dim]) -> Any:
    if isinstance(value, list):
        return tuple(_symbolic(v, dims) for v in value)
    return dims[value] if isinstance(value, str) and value in dims else value


def cases(op: Operator) -> Iterator[Case]:
    """Yield the whole matrix of an operator, each case once."""
    seen: set[str] = set()
    common = [c for raw in _common(op) for c in _expanded(op, raw) if _accepted(c)]
    for case in itertools.chain(common, *(_expanded(op, raw) for raw in op.spec.cases)):
        if case.label not in seen:
            seen.add(case.label)
            yield case


def _expanded(op: Operator, raw: Mapping[str, Any]) -> Iterator[Case]:
    raw = dict(raw)
    if "'n'" in str([raw.get(i.name) for i in op.spec.inputs]) and "dims" not in raw:
        raw["dims"] = {"n": [0, 1, 6]}
    known = {*_KEYS, *(i.name for i in op.spec.inputs)}
    if set(raw) - known:
        raise ValueError(f"{op.name}: unknown keys {sorted(set(raw) - known)} in a case; allowed: {', '.join(sorted(known))}")
    values = raw.get("dims") or {}
    dims = {k: Dim(k, min=min(v), max=max(*v, 1) if len(v) > 1 else max(v[0], 1)) for k, v in values.items()}
    attrs = {k: _symbolic(v, dims) for k, v in (raw.get("attrs") or {}).items()}
    for chosen, at in itertools.product(_types(op, raw), _assignments(raw)):
        types: list[TensorType | None] = []
        if op.spec.variadic:
            item = op.spec.inputs[0]
            types = [TensorType(chosen.get(item.dtype, item.dtype), _shape(s, dims)) for s in raw["inputs"]]
        else:
            for item in op.spec.inputs:
                shape = raw.get(item.name)
                types.append(None if shape is None else TensorType(chosen.get(item.dtype, item.dtype), _shape(shape, dims)))
        yield Case(op, tuple(types), attrs, at, raw.get("ranges") or {}, bool(raw.get("special")))
