"""From a case to the kernels that run it: traced, lowered for a GPU target, one source for each candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from slice_cases import Case, Input

from dinoml import Dim, Parameter, TensorSpec, trace
from dinoml.codegen.gpu_source import render_gpu_kernel
from dinoml.codegen.kernel_source import KernelSource
from dinoml.ir import intexpr
from dinoml.ir.graph import Function, Graph
from dinoml.lowering.context import LoweringContext
from dinoml.lowering.kernels import Kernel
from dinoml.lowering.lower import lower_function
from dinoml.lowering.templates import candidates
from dinoml.passes import run_passes
from dinoml.targets import Target


@dataclass(frozen=True)
class Step:
    """One kernel of a function with the sources of all its candidates."""

    kernel: Kernel
    sources: tuple[KernelSource, ...]


@dataclass(frozen=True)
class Lowered:
    """A case for one target. `program` makes stored constants of source constants and runs first."""

    case: Case
    graph: Graph
    main: tuple[Step, ...]
    program: tuple[Step, ...]


def _spec(case: Case, item: Input) -> TensorSpec:
    return TensorSpec([Dim(e, 1, case.limits[e]) if isinstance(e, str) else e for e in item.shape], item.dtype)


def lower_case(case: Case, target: Target) -> Lowered:
    """Return the kernels of a case."""
    weights = {k: Parameter(_spec(case, item).shape, item.dtype, name=k) for k, item in case.constants.items()}

    def model(**inputs: Any) -> Any:
        return case.model(**inputs, **weights)

    spec = trace(model, {k: _spec(case, item) for k, item in case.inputs.items()}, name=case.name)
    graph, _ = run_passes(spec.graph, target)
    ctx = LoweringContext(graph, target)

    def steps(fn: Function | None) -> tuple[Step, ...]:
        if fn is None:
            return ()
        kernels = lower_function(ctx, fn).kernels
        return tuple(Step(k, tuple(render_gpu_kernel(k, c) for c in candidates(k, target) if not c.declined)) for k in kernels)

    return Lowered(case, graph, steps(graph.functions[0]), steps(graph.constant_program))


def _step_json(step: Step, fn: Function, dims: Mapping[str, int]) -> dict[str, Any]:
    def value(x: Any) -> int:
        return int(intexpr.evaluate(x, dims))

    operands = [{"name": v, "dtype": s, "shape": [value(e) for e in fn.types[v].shape], "written": w} for v, s, w in step.kernel.operands]
    variants = [
        {
            "candidate": s.candidate.name,
            "entry": s.name,
            "scratch": bool(s.candidate.scratch),
            "ints": [value(x) for x in s.ints],
            "fits": all(value(c) >= 0 for c in s.candidate.conditions),
        }
        for s in step.sources
    ]
    return {"template": step.kernel.template, "operands": operands, "variants": variants}


def case_json(lowered: Lowered) -> dict[str, Any]:
    """Return what a driver needs to run a case: kernels, operands and run-time integers for each binding of the dims."""
    fn, program = lowered.graph.functions[0], lowered.graph.constant_program
    runs = [
        {
            "dims": dict(dims),
            "program": [_step_json(s, program, dims) for s in lowered.program] if program else [],
            "stored": {o.name: o.value for o in program.outputs} if program else {},
            "main": [_step_json(s, fn, dims) for s in lowered.main],
            "outputs": {o.name: o.value for o in fn.outputs},
        }
        for dims in lowered.case.dims
    ]
    return {"name": lowered.case.name, "runs": runs}


def random_array(item: Input, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Return seeded random values in float64."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(item.low, item.high, shape)
    return np.floor(x) if item.whole else x
