"""Builds nodes: the one place where operators are applied to symbolic tensors, by tracing and by expanding composites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from dinoml.ir import dtypes
from dinoml.ir.graph import Node, TensorType, freeze
from dinoml.operators import registry
from dinoml.operators.binding import bind
from dinoml.operators.call import OpCall, OperatorError
from dinoml.operators.operator import Operator
from dinoml.operators.value import Tensor

current: ContextVar[Builder | None] = ContextVar("dinoml_builder", default=None)


class Builder:
    """A list of nodes that grows. `b.softmax(x, dim=-1)` applies any operator by its public name."""

    def __init__(self, prefix: str = "", source: str = "", taken: Sequence[str] = (), label: str = "") -> None:
        self.prefix = prefix
        self.source = source
        self.label = label
        self.nodes: list[Node] = []
        self.types: dict[str, TensorType] = {}
        self.extents: dict[str, str] = {}
        self._taken = set(taken)
        self._counts: dict[str, int] = {}
        self._numbers: dict[tuple[str, str], Tensor] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in registry.index().public:
            raise AttributeError(registry.unknown(name))
        return lambda *args, **kwargs: self.invoke(name, args, kwargs)

    def value(self, name: str, type: TensorType) -> Tensor:
        """Return a tensor for a value that exists outside of this builder's nodes."""
        self._taken.add(name)
        self.types[name] = type
        return Tensor(name, type, self)

    def line(self) -> str:
        """Return the model's line for a node made now."""
        return self.source

    def fresh(self, op: str) -> str:
        """Return an unused node id."""
        while True:
            k = self._counts.get(op, 0)
            self._counts[op] = k + 1
            name = f"{self.prefix}{op}_{k}"
            if name not in self._taken:
                self._taken.add(name)
                return name

    def number(self, value: int | float | bool, dtype: str) -> Tensor:
        """Return a rank-0 tensor that holds a Python number."""
        if dtypes.DTYPES[dtype].kind == "float":
            value = float(value)
        key = (repr(value), dtype)
        if key not in self._numbers:
            self._numbers[key] = self.invoke(registry.role("number"), (), {"shape": (), "fill_value": value, "dtype": dtype})
        return self._numbers[key]

    def array(self, value: Any, dtype: str | None, hint: str) -> Tensor:
        """Return a constant tensor; only a model's trace can hold arrays."""
        raise OperatorError(f"{hint}: an array cannot become a constant here; pass a Parameter of the model")

    def lift(self, value: Any) -> Tensor | None:
        """Return the tensor for a foreign object that stands for one (a Parameter), None for anything else."""
        return None

    def apply(self, op: Operator, inputs: Sequence[Tensor | None], attrs: Mapping[str, Any], label: str = "") -> tuple[Tensor, ...]:
        """Add a node and return all its results, extents included; raise OperatorError when the spec refuses it."""
        node_id = self.fresh(op.name)
        names = [t.name if t is not None else "" for t in inputs]
        call = op.call([None if t is None else t.type for t in inputs], attrs, names, node_id, self.line(), self.label or label)
        types = op.infer(call)
        outputs = self._result_names(op, node_id, len(types))
        self.nodes.append(Node(node_id, op.name, tuple(names), outputs, tuple(sorted((k, freeze(v)) for k, v in call.attrs.items())), call.source))
        self.types.update(zip(outputs, types))
        results = tuple(Tensor(n, t, self) for n, t in zip(outputs, types))
        for spec, r in zip(op.spec.outputs, results):
            if spec.extent:
                self.extents[call.extent(spec.name, 0).name] = r.name
        return results

    def _result_names(self, op: Operator, node_id: str, count: int) -> tuple[str, ...]:
        declared = [o.name for o in op.spec.outputs]
        if len(declared) != count:
            return tuple(f"{node_id}_{i}" for i in range(count))
        return (node_id,) if count == 1 else tuple(f"{node_id}_{n}" for n in declared)

    def invoke(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Apply a public function; numbers, arrays and parameters become tensors first."""
        p = registry.public(name)
        bound = bind(name, args, kwargs)
        inputs = self._tensors(p, bound.inputs)
        results = self.apply(p.operator, inputs, bound.attrs, name)
        outputs = p.operator.spec.outputs
        if any(o.variadic for o in outputs):
            return results
        shown = tuple(r for r, o in zip(results, outputs) if not o.extent)
        return shown[0] if len(shown) == 1 else shown

    def _tensors(self, p: registry.Public, values: list[Any]) -> list[Tensor | None]:
        spec = p.operator.spec
        items = [spec.inputs[0] if spec.variadic else spec.inputs[i] for i in range(len(values))]
        out: list[Tensor | None] = []
        for v in values:
            t = v if isinstance(v, Tensor) else self.lift(v)
            if t is not None and t.builder is not self:
                raise OperatorError(f"{p.name}: {t!r} belongs to another trace")
            out.append(t)
        for i, v in enumerate(values):
            if v is None or out[i] is not None:
                continue
            variable = items[i].dtype
            same = [t.dtype for t, item in zip(out, items) if t is not None and item.dtype == variable]
            fixed = same[0] if same else variable if variable in dtypes.DTYPES else None
            out[i] = self._literal(p, items[i].name, v, fixed, spec.types.get(variable, (variable,)))
        return out

    def _literal(self, p: registry.Public, where: str, value: Any, dtype: str | None, allowed: tuple[str, ...]) -> Tensor:
        call = OpCall(p.operator.spec, (), {}, source=self.line(), label=p.name)
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, (bool, int, float)):
            if dtype is None:
                call.fail(f"{where}={value!r}: a number takes the dtype of a tensor beside it, and there is none")
            kind = dtypes.DTYPES[dtype].kind
            if isinstance(value, bool) != (kind == "bool"):
                call.fail(f"{where}={value!r} does not stand for a value of dtype {dtype}" + ("; use 0 or 1" if isinstance(value, bool) else ""))
            if kind == "int" and isinstance(value, float) and not value.is_integer():
                call.fail(f"{where}={value!r} is not an integer, the other operand has dtype {dtype}. Convert it with dinoml.ops.cast.")
            return self.number(value, dtype)
        if isinstance(value, (list, tuple, np.ndarray)) or hasattr(value, "__array__"):
            if dtype is None and not hasattr(value, "dtype") and len(allowed) and dtypes.DTYPES[allowed[0]].kind == "int":
                dtype = "int64"
            return self.array(value, dtype, f"{p.name}: {where}")
        return call.fail(f"{where} must be a tensor, a Parameter, an array or a number, got {type(value).__name__} {value!r}")


def builder_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Builder:
    """Return the builder of the first tensor among the arguments, else that of the running trace; raise OperatorError without one."""
    for a in [*args, *kwargs.values()]:
        for x in a if isinstance(a, (list, tuple)) else (a,):
            if isinstance(x, Tensor):
                return x.builder
    b = current.get()
    if b is None:
        raise OperatorError("operators work on symbolic tensors inside a model's forward; trace the model with dinoml.trace")
    return b
