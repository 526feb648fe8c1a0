"""Samples: one traced function with inputs and the answer of the references; ways to run many of them at once.

`run_numpy` executes the lowered kernels with NumPy, `run_native` compiles all functions into one library and runs it on
poisoned, guarded outputs. Both return a readable line per failure, so that a test can report them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dinoml import TensorSpec, compiler, runtime, trace
from dinoml.compare import compare
from dinoml.frontend.modelspec import ModelSpec
from dinoml.ir import dtypes, intexpr
from dinoml.lowering.context import LoweringContext
from dinoml.lowering.execute import Executor
from dinoml.lowering.lower import LoweredFunction, lower_function
from dinoml.operators.evaluate import evaluate
from dinoml.passes import run_passes
from dinoml.passes.constants import run_constant_program
from dinoml.targets import Target

Array = np.ndarray[Any, Any]
GUARD = 64  # bytes before and after each output that must stay as they were
TARGET = Target("cpu")
THREADS = 2


@dataclass(frozen=True)
class Tolerance:
    """How outputs are compared: arguments of the shared comparator, how often a value is rounded, which axis is the operator's row."""

    reduction: int = 0
    limits: Mapping[str, float] = field(default_factory=dict)
    exact: bool = False
    roundings: int = 1
    row_axis: int = -1

    def message(self, got: Array, want: Array, dtype: str, roundings: int = 1) -> str:
        """Return what is wrong, or nothing."""
        if self.row_axis != -1 and np.ndim(got) >= -self.row_axis:
            got, want = np.moveaxis(got, self.row_axis, -1), np.moveaxis(want, self.row_axis, -1)
        override = self.limits.get(dtype)
        times = max(roundings, self.roundings)
        if times > 1 and not self.exact and dtypes.DTYPES[dtype].kind == "float":
            from dinoml.compare import limit

            override = times * float(limit(dtype, self.reduction) if override is None else override)
        return compare(got, want, dtype=dtype, reduction_length=self.reduction, limit_override=override, exact=self.exact).message


@dataclass(frozen=True)
class Sample:
    """`model(**tensors)` with its input specs, one set of arrays and dims. Samples of equal `key` share one function."""

    label: str
    model: Callable[..., Any]
    specs: Mapping[str, TensorSpec]
    arrays: Mapping[str, Array]
    dims: Mapping[str, int] = field(default_factory=dict)
    tolerance: Tolerance = Tolerance()
    key: str = ""


def with_carriers(sample: Sample) -> Sample:
    """Return the sample with an unused input for every dim that no input has as an axis: a session learns dims from inputs."""
    axes = {e.name for s in sample.specs.values() for e in s.shape if isinstance(e, intexpr.Symbol)}
    missing = [d for d in sample.dims if d not in axes]
    if not missing:
        return sample
    known = {s.name: s for spec in sample.specs.values() for e in spec.shape for s in intexpr.symbols(e)}
    raise_for = [d for d in missing if d not in known and d not in CARRIED]
    if raise_for:
        raise KeyError(f"{sample.label}: nothing says what the dims {raise_for} are")
    extra = {f"carry_{d}": known.get(d) or CARRIED[d] for d in missing}

    def model(**tensors: Any) -> Any:
        return sample.model(**{k: v for k, v in tensors.items() if k not in extra})

    return Sample(
        sample.label, model, {**sample.specs, **{k: TensorSpec([d], "int32") for k, d in extra.items()}},
        {**sample.arrays, **{k: np.zeros(sample.dims[k.removeprefix("carry_")], np.int32) for k in extra}}, sample.dims, sample.tolerance, sample.key,
    )  # fmt: skip


CARRIED: dict[str, Any] = {}  # dims that occur in attributes only, by name


@dataclass(frozen=True)
class Library:
    """All samples traced into one graph: `names[i]` is the function of sample i."""

    spec: ModelSpec
    samples: tuple[Sample, ...]
    names: tuple[str, ...]

    def wanted(self, i: int) -> dict[str, Array]:
        """Return the answer of the references for sample i."""
        s = self.samples[i]
        return evaluate(self.spec.graph, s.arrays, self.spec.constants, function=self.names[i], dims=s.dims)

    def types(self, i: int) -> dict[str, str]:
        """Return the dtypes of the outputs of sample i."""
        f = self.spec.graph.function(self.names[i])
        return {o.name: f.types[o.value].dtype for o in f.outputs}


def library(samples: Iterable[Sample], name: str = "samples") -> Library:
    """Trace samples, those of equal key once."""
    items = tuple(with_carriers(s) for s in samples)
    functions: dict[str, Any] = {}
    names: list[str] = []
    by_key: dict[str, str] = {}
    for i, s in enumerate(items):
        key = s.key or str(i)
        if key not in by_key:
            by_key[key] = f"f{len(by_key)}"
            functions[by_key[key]] = (s.model, s.specs)
        names.append(by_key[key])
    return Library(trace(None, functions=functions, name=name), items, tuple(names))


# -- NumPy ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lowered:
    """A library's graph after all passes, and the constants that its functions read."""

    context: LoweringContext
    stored: Mapping[str, Array]

    def function(self, name: str, fuse: bool = True) -> LoweredFunction:
        return lower_function(self.context, self.context.graph.function(name), fuse)


def lower(lib: Library, target: Target = TARGET) -> Lowered:
    """Run the passes on a library."""
    graph, _ = run_passes(lib.spec.graph, target)
    return Lowered(LoweringContext(graph, target), run_constant_program(graph, lib.spec.constants))


def run_numpy(lib: Library, fuse: Sequence[bool] = (True, False), target: Target = TARGET) -> list[str]:
    """Execute every sample with NumPy; return a line per failure."""
    lowered = lower(lib, target)
    functions: dict[tuple[str, bool], LoweredFunction] = {}
    failures: list[str] = []
    for i, s in enumerate(lib.samples):
        want = lib.wanted(i)
        for fused in fuse:
            where = f"{s.label} [{'fused' if fused else 'unfused'}, NumPy]"
            try:
                key = (lib.names[i], fused)
                if key not in functions:
                    functions[key] = lowered.function(*key)
                got = executed(functions[key], s, lowered.stored)
            except Exception as e:
                failures.append(f"{where}: {type(e).__name__}: {e}")
                continue
            steps = 1 if fused else max(len(functions[key].kernels), 1)
            failures += compared(s, got, want, lib.types(i), where, roundings=steps)
    return failures


def executed(lowered: LoweredFunction, s: Sample, stored: Mapping[str, Array] | None = None, wide: bool = False) -> dict[str, Array]:
    """Return the outputs by name of one run with NumPy."""
    buffers = Executor(lowered, wide)({**s.arrays, **(stored or {})}, s.dims)
    return {o.name: buffers[o.value] for o in lowered.function.outputs}


def compared(s: Sample, got: Mapping[str, Array], want: Mapping[str, Array], types: Mapping[str, str], where: str, roundings: int = 1) -> list[str]:
    """Return a line per output that is wrong."""
    out = []
    for name, w in want.items():
        text = s.tolerance.message(got[name], w, types[name], roundings)
        if text:
            out.append(f"{where} {name}: {text}")
    return out


# -- native -----------------------------------------------------------------------------------------------------------


def run_native(lib: Library, folder: Path, target: Target = TARGET, expect: Mapping[int, Mapping[str, Array]] | None = None) -> list[str]:
    """Compile a library, run every sample, and return a line per failure."""
    artifact = compiler.compile(lib.spec, target, folder / f"{lib.spec.name}.dinoml")
    failures: list[str] = []
    with runtime.load(artifact.path) as module:
        session = module.create_session(threads=THREADS, debug=True)
        for i, s in enumerate(lib.samples):
            where = f"{s.label} [native]"
            try:
                got = run_guarded(session, lib.names[i], s.arrays)
            except Exception as e:
                failures.append(f"{where}: {type(e).__name__}: {e}")
                continue
            failures += compared(s, got, lib.wanted(i), lib.types(i), where)
    return failures


def run_guarded(session: runtime.Session, function: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Run on poisoned outputs with guards around them; raise AssertionError when a guard or an input was written."""
    inputs = {k: np.array(v, copy=True, order="C") for k, v in arrays.items()}
    blocks: dict[str, Array] = {}
    out: dict[str, Array] = {}
    declared = {t.name: t.dtype for t in session.module.function(function).outputs}
    for name, shape in session.infer_shapes(inputs, function=function).items():
        out[name], blocks[name] = poisoned(shape, declared[name])
    session.run(inputs, function=function, out=out)
    for name, block in blocks.items():
        if not (np.all(block[:GUARD] == 0xA5) and np.all(block[GUARD + out[name].nbytes :] == 0xA5)):
            raise AssertionError(f"output {name} was written outside of its buffer")
    for name, x in inputs.items():
        if x.tobytes() != np.asarray(arrays[name]).tobytes():
            raise AssertionError(f"input {name} was changed")
    return {name: _actual(session, function, name, a) for name, a in out.items()}


def poisoned(shape: Sequence[int], dtype: str) -> tuple[Array, Array]:
    """Return an output full of NaN (or garbage) and the block of bytes around it."""
    t = dtypes.numpy_dtype(dtype)
    n = int(np.prod(shape, dtype=np.int64)) * t.itemsize
    block = np.full(n + 2 * GUARD, 0xA5, np.uint8)
    inner = block[GUARD : GUARD + n]
    view = inner.view(t).reshape(tuple(shape))
    if dtypes.DTYPES[dtype].kind == "float":
        view[...] = np.nan
    else:
        inner[:] = 1 if dtype == "bool" else 0xC9
    return view, block


def _actual(session: runtime.Session, function: str, name: str, a: Array) -> Array:
    shape = session.get_output_shape(name, function=function)
    return a.reshape(-1)[: int(np.prod(shape, dtype=np.int64))].reshape(shape)


def report(failures: Sequence[str], limit: int = 25) -> str:
    """Return one text for an assertion: how many failed and the first of them."""
    more = f"\n… and {len(failures) - limit} more" if len(failures) > limit else ""
    return f"{len(failures)} failures\n" + "\n".join(failures[:limit]) + more
