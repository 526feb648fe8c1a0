"""`trace`: run a model's forward on symbolic tensors and record a Graph."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from dinoml import paths
from dinoml.frontend.model import Parameter, TensorSpec, array_of, walk
from dinoml.frontend.modelspec import ModelSpec
from dinoml.ir import dtypes, graph
from dinoml.ir.graph import Function, Graph, Output, State, StateWrite, TensorType
from dinoml.operators import registry
from dinoml.operators.build import Builder, current
from dinoml.operators.call import OperatorError
from dinoml.operators.value import Tensor

DEFAULT_FUNCTION = "main"
_INTERNAL = (str(paths.PACKAGE) + os.sep, str(paths.operators_root()) + os.sep)


def _is_internal(path: str) -> bool:
    return path.startswith(_INTERNAL) or path.startswith("<")


@dataclass
class _Shared:
    """What the functions of one model have in common: constants by name, states, the folder that source lines are relative to."""

    folder: str
    names: dict[int, str]  # id(Parameter) -> name
    keep: list[Parameter] = field(default_factory=list)
    constants: dict[str, TensorType] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    states: dict[str, TensorType] = field(default_factory=dict)
    reserved: set[str] = field(default_factory=set)
    makers: set[str] = field(default_factory=set)  # nodes that make dims, which all functions share
    arrays: int = 0

    def new_name(self) -> str:
        while True:
            name = f"constant_{self.arrays}"
            self.arrays += 1
            if name not in self.reserved:
                self.reserved.add(name)
                return name


class StateTensor(Tensor):
    """The content of a state: uses after `assign` see the new value, the last one is written at the end of the function."""

    __slots__ = ("state",)

    def __init__(self, state: str, name: str, type: TensorType, builder: Builder) -> None:
        super().__init__(name, type, builder)
        self.state = state

    def assign(self, value: Any) -> StateTensor:
        """Make `value` the content from here on; raise OperatorError when its type differs from the state's."""
        b = self.builder
        t = value if isinstance(value, Tensor) else b.lift(value)
        if t is None or t.builder is not b:
            raise OperatorError(f"state {self.state!r}: assign takes a tensor of the same trace, got {value!r}")
        if t.type != self.type:
            raise OperatorError(f"state {self.state!r} is {self.type}, cannot assign {t.type} [{b.line()}]")
        assert isinstance(b, FunctionBuilder)
        self._name = b.writes[self.state] = t.name
        return self


class FunctionBuilder(Builder):
    """Records one function of a model."""

    def __init__(self, name: str, shared: _Shared, inputs: Mapping[str, TensorSpec]) -> None:
        super().__init__(taken=[*inputs, *shared.reserved])
        self.name = name
        self.shared = shared
        self.inputs = {k: self.value(k, spec.type) for k, spec in inputs.items()}
        self.used: dict[str, None] = {}
        self.state_values: dict[str, StateTensor] = {}
        self.entry: dict[str, str] = {}
        self.writes: dict[str, str] = {}
        self.outputs: list[tuple[str, Tensor]] = []

    def fresh(self, op: str) -> str:
        """Return an unused node id; one that no function has for an operator that makes a dim, which is named after its node."""
        name = super().fresh(op)
        if any(o.extent for o in registry.get(op).spec.outputs):
            while name in self.shared.makers:
                name = super().fresh(op)
            self.shared.makers.add(name)
        return name

    def line(self) -> str:
        """Return "file:line" of the innermost frame that is not DinoML's own."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_internal(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return ""
        path = frame.f_code.co_filename
        inside = path.startswith(self.shared.folder + os.sep)
        return f"{os.path.relpath(path, self.shared.folder) if inside else Path(path).name}:{frame.f_lineno}"

    def constant(self, name: str, type: TensorType) -> Tensor:
        """Return the tensor of a named constant."""
        self.shared.constants[name] = type
        self.used.setdefault(name)
        return self.value(name, type)

    def lift(self, value: Any) -> Tensor | None:
        """Return the constant that a Parameter stands for."""
        if not isinstance(value, Parameter):
            return None
        name = self.shared.names.get(id(value))
        if name is None:
            name = value.name or self.shared.new_name()
            if name in self.shared.reserved and value.name:
                raise OperatorError(f"two parameters are named {name!r}")
            self.shared.names[id(value)] = name
            self.shared.reserved.add(name)
        self.shared.keep.append(value)  # ids stay unique while the object lives
        if value.value is not None:
            self.shared.values[name] = value.value
        return self.constant(name, value.type)

    def array(self, value: Any, dtype: str | None, hint: str) -> Tensor:
        """Return a new constant that holds an array."""
        if dtype is None:
            array = np.asarray(value)
            dtype = "float32" if array.dtype == np.float64 else dtypes.dtype(array.dtype)
        stored = array_of(value, dtype, hint)
        name = self.shared.new_name()
        self.shared.values[name] = stored
        return self.constant(name, TensorType(dtype, stored.shape))

    def declare_state(self, name: str, spec: TensorSpec) -> StateTensor:
        """Return the content of a state; declaring it again with the same spec returns the same tensor."""
        known = self.shared.states.get(name)
        if known is not None and known != spec.type:
            raise OperatorError(f"state {name!r} is already declared as {known}, not {spec.type} [{self.line()}]")
        self.shared.states[name] = spec.type
        if name not in self.state_values:
            value = f"{name}.in"
            self._taken.add(value)
            self.types[value] = spec.type
            self.entry[value] = name
            self.state_values[name] = StateTensor(name, value, spec.type, self)
        return self.state_values[name]

    def finish(self, returned: Any) -> Function:
        """Return the function; raise OperatorError when nothing is returned or names repeat."""
        names = {id(t): n for n, t in self.outputs}
        declared = list(self.outputs)
        ordered: list[tuple[str, Tensor]] = []
        for key, t in _flatten(returned, ""):
            tensor = t if isinstance(t, Tensor) else self.lift(t)
            if tensor is None:
                raise OperatorError(f"{self.name}: forward returned {type(t).__name__} {t!r}; return tensors, or lists, tuples or dicts of them")
            if tensor.builder is not self:
                raise OperatorError(f"{self.name}: forward returned {tensor!r}, which belongs to another trace")
            ordered.append((names.get(id(t), "") or key, tensor))
        ordered = _with_declared(ordered, declared)
        if not ordered and not self.writes:
            raise OperatorError(f"{self.name}: forward returned nothing; return the outputs or name them with dinoml.ops.output")
        final = [(n or f"output_{i}", t) for i, (n, t) in enumerate(ordered)]
        labels = [n for n, _ in final]
        for n in labels:
            if labels.count(n) > 1:
                raise OperatorError(f"{self.name}: two outputs are named {n!r}")
        return self._function(final)

    def _function(self, outputs: list[tuple[str, Tensor]]) -> Function:
        self.source = ""
        taken: set[str] = set()
        written = {}
        for s, value in self.writes.items():
            written[s] = self._own(value, taken)
        results = [Output(n, self._own(t.name, taken)) for n, t in outputs]
        states = dict(self.entry)
        return Function(
            self.name,
            tuple(self.inputs),
            tuple(results),
            tuple(self.nodes),
            dict(self.types),
            tuple(self.used),
            states,
            tuple(StateWrite(s, v) for s, v in written.items()),
            dict(self.extents),
        )

    def _own(self, value: str, taken: set[str]) -> str:
        """Return a value of its own buffer for a result: a copy where `value` is an input, constant, state or already a result."""
        produced = any(value in n.outputs for n in self.nodes)
        if not produced or value in taken:
            (copy,) = self.apply(registry.get(registry.role("copy")), [Tensor(value, self.types[value], self)], {})
            value = copy.name
        taken.add(value)
        return value


def _with_declared(returned: list[tuple[str, Tensor]], declared: list[tuple[str, Tensor]]) -> list[tuple[str, Tensor]]:
    """Merge what forward returned with what ops.output named: a returned value without a name takes the one it was given."""
    same = {id(t) for _, t in returned}
    rest = [(n, t) for n, t in declared if id(t) not in same]
    out: list[tuple[str, Tensor]] = []
    for name, t in returned:
        given = next((d for d in rest if d[1].name == t.name), None) if not name else None
        if given is not None:
            rest.remove(given)
        out.append((given[0] if given is not None else name, t))
    return out + rest


def _flatten(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    if value is None:
        return
    if isinstance(value, Mapping):
        for k, v in value.items():
            yield from _flatten(v, f"{key}.{k}" if key else str(k))
    elif isinstance(value, (list, tuple)):
        for i, v in enumerate(value):
            yield from _flatten(v, f"{key}.{i}" if key else "")
    else:
        yield key, value


def _builder() -> FunctionBuilder:
    b = current.get()
    if not isinstance(b, FunctionBuilder):
        raise OperatorError("this works only inside a model's forward; trace the model with dinoml.trace")
    return b


def declare_output(x: Any, name: str) -> Tensor:
    """Return a tensor after naming it as an output of the running trace."""
    b = _builder()
    t = x if isinstance(x, Tensor) else b.lift(x)
    if t is None:
        raise OperatorError(f"output {name!r}: expected a tensor, got {x!r}")
    named = Tensor(t.name, t.type, b)  # its own object: the same tensor may be output under two names
    b.outputs.append((name, named))
    return named


def state(name: str, spec: TensorSpec) -> StateTensor:
    """Return the current content of the session's buffer `name`; `.assign(value)` writes it. Functions share states by name."""
    return _builder().declare_state(name, spec)


def _model_folder(model: Any) -> str:
    try:
        path = inspect.getfile(model if inspect.isroutine(model) else type(model))
    except (TypeError, OSError):
        return str(Path.cwd())
    return str(Path(path).resolve().parent)


def _parameter_names(model: Any) -> tuple[dict[int, str], dict[str, str]]:
    names: dict[int, str] = {}
    tied: dict[str, str] = {}
    for path, item in walk(model, "", set()):
        if isinstance(item, Parameter):
            own = item.name or path
            first = names.setdefault(id(item), own)
            if path != first:
                tied[path] = first
    if len(set(names.values())) != len(names):
        twice = sorted({n for n in names.values() if list(names.values()).count(n) > 1})
        raise OperatorError(f"different parameters share the names {', '.join(twice)}; rename them")
    return names, tied


def _specs(inputs: Mapping[str, Any], what: str) -> dict[str, TensorSpec]:
    out = {}
    for name, spec in inputs.items():
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"{what}: input {name!r} must be a TensorSpec, got {spec!r}")
        out[name] = spec
    return out


def _run(name: str, fn: Callable[..., Any], specs: dict[str, TensorSpec], shared: _Shared) -> Function:
    clash = sorted(set(specs) & shared.reserved)
    if clash:
        raise OperatorError(f"{name}: inputs and constants share the names {', '.join(clash)}; rename the inputs")
    b = FunctionBuilder(name, shared, specs)
    token = current.set(b)
    try:
        return b.finish(fn(**b.inputs))
    finally:
        current.reset(token)


def trace(
    model: Any,
    inputs: Mapping[str, TensorSpec] | None = None,
    constants: Mapping[str, Any] | None = None,
    name: str | None = None,
    functions: Mapping[str, Any] | None = None,
) -> ModelSpec:
    """Return the traced model: its graph and the constants bound so far.

    `model` is a Module, any object with forward(), or a function. `inputs` gives the one function "main" its TensorSpecs;
    `functions` gives several, {"prefill": {"x": TensorSpec(…)}, …}, each calling the model's method of that name, or
    (callable, inputs) pairs. Functions share constants and states by name. Raises OperatorError for what operators refuse.
    """
    if current.get() is not None:
        raise OperatorError("trace() was called inside a trace; call sub-modules directly")
    if (inputs is None) == (functions is None):
        raise TypeError("trace() takes either inputs= or functions=")
    names, tied = _parameter_names(model)
    shared = _Shared(_model_folder(model), names, reserved=set(names.values()))
    traced = []
    wanted: dict[str, Any] = {DEFAULT_FUNCTION: inputs} if functions is None else dict(functions)
    for fn_name, what in wanted.items():
        if functions is None:
            fn = model if callable(model) else model.forward
        elif isinstance(what, tuple):
            fn, what = what
        else:
            fn = getattr(model, fn_name)
        traced.append(_run(fn_name, fn, _specs(what, fn_name), shared))
    label = name or (model.__name__ if inspect.isroutine(model) else type(model).__name__).lower()
    sources = tuple(graph.Constant(n, t) for n, t in shared.constants.items())
    states = tuple(State(n, t) for n, t in shared.states.items())
    g = Graph(label, tuple(traced), sources, sources, states)
    spec = ModelSpec(label, g, {n: v for n, v in shared.values.items() if n in shared.constants}, tied)
    _ = g.dims  # refuse two different dims of one name now
    return spec.bind_constants(constants) if constants else spec
