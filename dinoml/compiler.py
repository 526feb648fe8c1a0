"""compile(): from a traced model to an artifact folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dinoml import __version__
from dinoml.artifact import manifest as manifests
from dinoml.artifact.safetensors_file import write_safetensors
from dinoml.build.compile import BuildEvent, compile_sources
from dinoml.build.link import link_shared
from dinoml.build.source import kernel_source, module_source, runtime_sources
from dinoml.build.toolchain import find_toolchain
from dinoml.codegen.kernel_source import KernelSource
from dinoml.codegen.module_source import render_module
from dinoml.frontend.modelspec import ModelSpec
from dinoml.ir import intexpr, serialize, shapes
from dinoml.ir.graph import Graph, TensorType
from dinoml.lowering.context import LoweringContext
from dinoml.lowering.lower import lower_function
from dinoml.lowering.plan import FunctionPlan, plan_function
from dinoml.lowering.report import kernels_json, memory_json
from dinoml.lowering.select import Selector
from dinoml.passes import PassReport, run_passes
from dinoml.passes.constants import run_constant_program
from dinoml.targets import Target

RECURSION = 20_000  # fused expressions are trees as deep as the chains they come from
Progress = Callable[[str, int, int], None]  # what is being done, done, total


@dataclass(frozen=True)
class Artifact:
    """A compiled model. `timings` are seconds per stage, `objects` how many kernel objects were compiled and reused.

    `notes` says what the user should know, such as entries of an execution plan that fit nothing in this model.
    """

    path: Path
    timings: Mapping[str, float] = field(default_factory=dict)
    objects: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of all files that running needs."""
        return sum(p.stat().st_size for p in self.path.iterdir() if p.is_file())


@dataclass(frozen=True)
class Lowered:
    """A model after everything that needs no compiler: graph, plans, kernel sources."""

    graph: Graph
    target: Target
    plans: tuple[FunctionPlan, ...]
    constant_program: FunctionPlan | None
    passes: tuple[PassReport, ...]

    @property
    def all_plans(self) -> tuple[FunctionPlan, ...]:
        return self.plans + ((self.constant_program,) if self.constant_program else ())

    @property
    def sources(self) -> dict[str, KernelSource]:
        """All kernel sources by name, each once."""
        return {v.source.name: v.source for p in self.all_plans for s in p.steps for v in s.variants}


def lower(spec: ModelSpec, target: Target, selector: Selector | None = None, fuse: bool = True) -> Lowered:
    """Return the optimised and lowered model; raise VerifyError or OperatorError for a model that is not valid."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    graph, reports = run_passes(spec.graph, target)
    ctx = LoweringContext(graph, target)
    selector = selector or Selector(target)
    at_run_time = {d for f in graph.functions for d in f.extents}
    dims = {n: d for n, d in graph.dims.items() if n not in at_run_time}
    plans = tuple(plan_function(graph, lower_function(ctx, f, fuse), selector, dims) for f in graph.functions)
    program = graph.constant_program
    constants = plan_function(graph, lower_function(ctx, program, fuse), selector, dims, constant_program=True) if program else None
    return Lowered(graph, target, plans, constants, tuple(reports))


def compile(
    spec: ModelSpec,
    target: Target | str,
    output: str | os.PathLike[str],
    *,
    clean: bool = True,
    execution_plan: Any = None,
    strict_plan: bool = False,
    profile: bool = False,
    profile_iterations: int = 20,
    profile_repeats: int = 3,
    profile_input_shapes: Any = None,
    profile_refresh: bool = False,
    constant_load_policy: str = "eager",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Artifact:
    """Compile a traced model into the folder `output` (replaced as a whole when `clean`) and return it.

    Raises ValueError for constants without a value, TargetError or NotBuiltYetError for the target, BuildError when the C++
    compiler refuses generated code, FileExistsError when `output` exists and `clean` is false. Nothing is left behind on failure.
    """
    target = Target.of(target)
    target.check_available()
    out = Path(output)
    if out.exists() and not clean:
        raise FileExistsError(f"{out} exists; remove it or pass clean=True to replace it")
    _check_inputs(spec, constant_load_policy)
    from dinoml.profile import choose_selector

    say = progress or (lambda what, done, total: None)
    selector = choose_selector(
        spec, target, execution_plan=execution_plan, strict=strict_plan, profile=profile, iterations=profile_iterations,
        repeats=profile_repeats, input_shapes=profile_input_shapes, refresh=profile_refresh, jobs=jobs, progress=say,
    )  # fmt: skip
    timings: dict[str, float] = {}
    clock = _Clock(timings)
    say("lower", 0, 1)
    lowered = lower(spec, target, selector)
    clock("lower")
    staging = out.with_name(f".{out.name}.{os.getpid()}")
    shutil.rmtree(staging, ignore_errors=True)
    try:
        objects = _write(spec, lowered, selector, staging, constant_load_policy, jobs, say, clock)
        _replace(staging, out)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Artifact(out, timings, objects, tuple(f"plan entry {k} was ignored: {why}" for k, why in selector.unused().items()))


class _Clock:
    def __init__(self, timings: dict[str, float]) -> None:
        self.timings, self.last = timings, time.perf_counter()

    def __call__(self, stage: str) -> None:
        now = time.perf_counter()
        self.timings[stage] = self.timings.get(stage, 0.0) + now - self.last
        self.last = now


def _check_inputs(spec: ModelSpec, policy: str) -> None:
    if policy not in ("eager", "deferred"):
        raise ValueError(f"constant_load_policy={policy!r} is not one of eager, deferred")
    if spec.unbound:
        shown = ", ".join(spec.unbound[:8]) + (f" and {len(spec.unbound) - 8} more" if len(spec.unbound) > 8 else "")
        raise ValueError(
            f"{spec.name}: {len(spec.unbound)} constants have no value: {shown}. Pass constants={{name: array}} to trace or call bind_constants."
        )


def _write(
    spec: ModelSpec, lowered: Lowered, selector: Selector, folder: Path, policy: str, jobs: int | None, say: Progress, clock: _Clock
) -> dict[str, int]:
    toolchain = find_toolchain()
    folder.mkdir(parents=True)
    graph, target = lowered.graph, lowered.target
    digest = module_digest(lowered)
    module_text = render_module(graph, lowered.plans, lowered.constant_program, target, digest)
    hot = {v.source.name for p in lowered.plans for s in p.steps for v in s.variants}  # the rest runs when a weight is replaced
    sources = [kernel_source(f"{k.name}.cpp", k.text, target, toolchain, rare=k.name not in hot) for k in lowered.sources.values()]
    everything = [*sources, module_source("module.cpp", module_text, toolchain), *runtime_sources(toolchain)]
    clock("render")

    def event(e: BuildEvent) -> None:
        say("compile", e.done, e.total)

    compiled = compile_sources(everything, toolchain, jobs=jobs, progress=event)
    clock("compile")
    link_shared([c.path for c in compiled], folder / "module.so", toolchain)
    clock("link")
    say("constants", 0, 1)
    arrays = {name: np.asarray(a) for name, a in spec.constants.items()}
    stored = run_constant_program(graph, arrays)
    write_safetensors(folder / manifests.CONSTANTS, [(c.name, stored[c.name]) for c in graph.constants])
    clock("constants")
    _write_json(folder, lowered, selector, module_text)
    manifests.seal(folder, _manifest(lowered, policy, digest, toolchain.identity if hasattr(toolchain, "identity") else str(toolchain.name)))
    clock("write")
    kernels = compiled[: len(sources)]
    return {"kernels": len(sources), "compiled": sum(not c.cached for c in kernels), "reused": sum(c.cached for c in kernels)}


def module_digest(lowered: Lowered) -> str:
    """Return the digest of graph, target and everything that is compiled."""
    h = hashlib.sha256(serialize.canonical(lowered.graph).encode())
    h.update(json.dumps(lowered.target.key, sort_keys=True).encode())
    for p in lowered.all_plans:
        for s in p.steps:
            h.update("|".join(f"{v.source.name} {' '.join(map(str, v.conditions))}" for v in s.variants).encode())
    return h.hexdigest()


def _write_json(folder: Path, lowered: Lowered, selector: Selector, module_text: str) -> None:
    def dump(name: str, value: Any) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    dump("graph.json", serialize.to_json(lowered.graph))
    dump("kernels.json", kernels_json(lowered.all_plans))
    dump("plan.json", selector.plan_json())
    dump("report/passes.json", {"passes": [p.to_json() for p in lowered.passes]})
    dump("report/memory.json", memory_json(lowered.graph, lowered.all_plans))
    if selector.report is not None:
        dump("report/profile.json", selector.report)
    src = folder / "src"
    src.mkdir()
    for k in lowered.sources.values():
        (src / f"{k.name}.cpp").write_text(k.text, encoding="utf-8")
    (src / "module.cpp").write_text(module_text, encoding="utf-8")


def _manifest(lowered: Lowered, policy: str, digest: str, compiler: str) -> manifests.Manifest:
    graph, target = lowered.graph, lowered.target

    def entry(name: str, t: TensorType, extents: frozenset[str] = frozenset(), stored: bool = True) -> manifests.TensorEntry:
        late = [any(s.name in extents for s in intexpr.symbols(e)) for e in t.shape]
        axes = [{"extent": shapes.max_extent(e)} if grows else shapes.to_json(e) for e, grows in zip(t.shape, late)]
        return manifests.TensorEntry(name, t.dtype, tuple(axes), stored)

    functions = []
    hidden: set[str] = set()
    for p in lowered.plans:
        f = p.function
        extents = frozenset(p.extents)
        hidden |= extents
        functions.append(manifests.FunctionEntry(
            f.name,
            tuple(entry(i, f.types[i]) for i in f.inputs),
            tuple(entry(o.name, f.types[o.value], extents) for o in f.outputs),
        ))  # fmt: skip
    names = {c.name for c in graph.constants}
    return manifests.Manifest(
        name=graph.name,
        target=manifests.TargetEntry(target.name, str(target.arch), tuple(target.features)),
        module_digest=digest,
        functions=tuple(functions),
        dims=tuple(
            manifests.DimEntry(d.name, d.min, d.max, d.divisible_by, d.typical, d.buckets) for d in graph.dims.values() if d.name not in hidden
        ),
        constant_policy=policy,
        sources=tuple(entry(c.name, c.type, stored=c.name in names) for c in graph.sources),
        stored=tuple(entry(c.name, c.type) for c in graph.constants),
        states=tuple(entry(s.name, s.type) for s in graph.states),
        created_by={"dinoml": __version__, "compiler": compiler, "numpy": np.__version__},
    )


def _replace(staging: Path, out: Path) -> None:
    """Move a finished folder to its place; the old one goes only when the new one is complete."""
    out.parent.mkdir(parents=True, exist_ok=True)
    old = out.with_name(f".{out.name}.old.{os.getpid()}")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    staging.rename(out)
    shutil.rmtree(old, ignore_errors=True)
