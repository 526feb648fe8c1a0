"""An operator: its spec, its lazily imported Python, and the questions that passes and the frontend ask it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dinoml.ir import expr, graph
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.operators import attributes, pointwise
from dinoml.operators.call import OpCall, OperatorError
from dinoml.operators.spec import OperatorSpec

if TYPE_CHECKING:
    from dinoml.operators.build import Builder
    from dinoml.operators.value import Tensor

Index = Sequence[IntLike]


class Operator:
    """The spec of one folder and the functions beside it, imported on first use."""

    def __init__(self, spec: OperatorSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.kind = spec.kind
        self.folder: Path = spec.path.parent

    def __repr__(self) -> str:
        return f"Operator({self.name!r}, {self.kind})"

    def _module(self, stem: str) -> ModuleType | None:
        path = self.folder / f"{stem}.py"
        if not path.is_file():
            return None
        name = f"dinoml_operators.{self.folder.parent.name}.{self.name}.{stem}"
        found = importlib.util.spec_from_file_location(name, path)
        assert found is not None and found.loader is not None
        module = importlib.util.module_from_spec(found)
        sys.modules[name] = module  # dataclasses and pickling look modules up by name
        found.loader.exec_module(module)
        return module

    @cached_property
    def module(self) -> ModuleType | None:
        """`op.py`, None where the folder has none."""
        return self._module("op")

    @cached_property
    def lowering(self) -> ModuleType | None:
        """`lower.py` of a kernel operator, None where the folder has none."""
        return self._module("lower")

    @cached_property
    def patterns(self) -> ModuleType | None:
        """`patterns.py`, None where the folder has none."""
        return self._module("patterns")

    def function(self, name: str) -> Any:
        """Return a function of `op.py`; raise AttributeError naming file and function."""
        fn = getattr(self.module, name, None)
        if fn is None:
            raise AttributeError(f"{self.folder / 'op.py'} has no function {name}(), which a {self.kind} operator needs")
        return fn

    def call(
        self,
        inputs: Sequence[TensorType | None],
        attrs: Mapping[str, Any],
        names: Sequence[str] = (),
        id: str = "",
        source: str = "",
        label: str = "",
    ) -> OpCall:
        """Return a checked application with canonical attributes; raise OperatorError with the spec's reason."""
        bare = OpCall(self.spec, tuple(inputs), {}, tuple(names), id, source, {}, label)
        call = attributes.check(bare, attrs)
        canonical = getattr(self.module, "canonical", None)
        return call if canonical is None else replace(call, attrs={**call.attrs, **canonical(call)})

    def infer(self, call: OpCall) -> tuple[TensorType, ...]:
        """Return the types of the results; raise OperatorError when the inputs do not fit."""
        if self.kind == "pointwise":
            return (TensorType(self.result_dtype(call, 0), call.broadcast(*(t.shape for t in call.present))),)
        if self.kind == "composite" and not hasattr(self.module, "infer"):
            return self._infer_by_expansion(call)
        out = self.function("infer")(call)
        return tuple(out) if isinstance(out, (list, tuple)) else (out,)

    def _infer_by_expansion(self, call: OpCall) -> tuple[TensorType, ...]:
        from dinoml.operators.build import Builder

        b = Builder(prefix=f"{call.id}.", source=call.source)
        values = [None if t is None else b.value(f"in{i}", t) for i, t in enumerate(call.inputs)]
        return tuple(v.type for v in self.expand(call, b, values))

    def result_dtype(self, call: OpCall, i: int) -> str:
        """Return the dtype that the spec gives to result i."""
        name = self.spec.outputs[i].dtype
        if name in call.types:
            return call.types[name]
        return str(call.attrs[name]) if name in call.attrs else name

    def define(self, call: OpCall, index: Index) -> tuple[expr.Expr, ...]:
        """Return the scalar expressions of the result elements at `index` (pointwise operators and views)."""
        if self.kind == "pointwise":
            shape = call.broadcast(*(t.shape for t in call.present))
            values: dict[str, pointwise.Value] = {**call.attrs}
            for i, item in enumerate(self.spec.inputs):
                values[item.name] = call.broadcast_read(i, index, shape) if call.inputs[i] is not None else None
            return (pointwise.compile_expr(self.spec.expr, values, self.result_dtype(call, 0)),)
        out = self.function("define")(call, tuple(index))
        return tuple(out) if isinstance(out, (list, tuple)) else (out,)

    def place(self, call: OpCall, i: int, index: Index) -> tuple[IntLike, ...] | None:
        """Return where element `index` of input i lands in the result, None unless the view is a bijection of that input."""
        fn = getattr(self.module, "place", None)
        out = None if fn is None else fn(call, i, tuple(index))
        return None if out is None else tuple(out)

    def own(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that the spec declares, without what passes noted beside them."""
        return {a.name: attrs[a.name] for a in self.spec.attrs if a.name in attrs}

    def expand(self, call: OpCall, builder: Builder, inputs: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        """Return the results of a composite in terms of other operators, added to `builder`."""
        args = [list(inputs)] if self.spec.variadic else list(inputs)
        try:
            out = self.function("expand")(builder, *args, **self.own(call.attrs))
        except ValueError as e:
            if not call.source or call.source in str(e):
                raise
            raise OperatorError(f"{e} [{call.source}]") from e
        return tuple(out) if isinstance(out, (list, tuple)) else (out,)

    def reference(self, inputs: Sequence[np.ndarray[Any, Any] | None], attrs: Mapping[str, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """Return the results of the folder's `reference.py` on float64 (or integer, bool) arrays; attributes are plain numbers."""
        module, attrs = self.reference_module, self.own(attrs)
        with np.errstate(all="ignore"):
            out = module.reference(list(inputs), **attrs) if self.spec.variadic else module.reference(*inputs, **attrs)
        return tuple(np.asarray(o) for o in out) if isinstance(out, (list, tuple)) else (np.asarray(out),)

    @cached_property
    def reference_module(self) -> ModuleType:
        """`reference.py`; raise FileNotFoundError where the folder has none."""
        module = self._module("reference")
        if module is None:
            raise FileNotFoundError(f"{self.folder / 'reference.py'} is missing: every operator has a NumPy reference")
        return module


def node_call(op: Operator, node: graph.Node, types: Mapping[str, TensorType]) -> OpCall:
    """Return the application that a node of a graph stands for."""
    inputs = [types[i] if i else None for i in node.inputs]
    own = {n for a in op.spec.attrs for n in (a.name, *a.also)}
    call = op.call(inputs, {k: v for k, v in node.attrs if k in own}, node.inputs, node.id, node.source)
    extra = {k: v for k, v in node.attrs if k not in own}  # what passes noted on the node
    return replace(call, attrs={**call.attrs, **extra}) if extra else call
