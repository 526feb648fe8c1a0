"""Problems of a graph with everything that running them alone needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dinoml.codegen.kernel_source import KernelSource, render_kernel
from dinoml.compare import EPS
from dinoml.ir import dtypes, intexpr
from dinoml.ir import expr as ex
from dinoml.ir.graph import Function, Graph, TensorType
from dinoml.ir.intexpr import IntLike, Opaque
from dinoml.ir.shapes import Dim
from dinoml.lowering.context import LoweringContext
from dinoml.lowering.kernels import Kernel, LoadAccessor, PackedOperand, Port, StoreAccessor, StridedOperand, Write
from dinoml.lowering.lower import LoweredFunction, lower_function
from dinoml.lowering.plan import STATE, state_copies
from dinoml.lowering.select import applicable, problem_key
from dinoml.lowering.templates import Candidate, candidates
from dinoml.profile.job import Array, BufferSpec, CandidateRun, PointJob
from dinoml.profile.points import Point
from dinoml.targets import Target

MOST_FLOPS = 2e11  # a single run beyond this takes seconds
EXACT_FLOPS, EXACT_ELEMENTS = 3e7, 1 << 18  # what NumPy computes in little time
STRAY = 1e-3


@dataclass
class Workload:
    """One problem: a kernel that poses it, its candidates, the types of its buffers, and where else it occurs."""

    key: str
    kernel: Kernel
    function: Function
    usable: list[Candidate]
    declined: list[Candidate]
    types: dict[str, TensorType]
    constants: set[str]
    uses: list[tuple[str, ...]] = field(default_factory=list)

    @cached_property
    def sources(self) -> dict[str, KernelSource]:
        """The rendered source of each candidate."""
        return {c.name: render_kernel(self.kernel, c) for c in self.usable}

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The buffers, in order of first use."""
        return tuple(dict.fromkeys(v for v, _, _ in self.kernel.operands))

    @cached_property
    def dims(self) -> tuple[Dim, ...]:
        """The dims that this problem depends on, those that a run computes left out."""
        integers = [*self.kernel.dims, *(i for s in self.sources.values() for i in s.ints), *(e for t in self.types.values() for e in t.shape)]
        found = {s.name: s for x in integers for s in intexpr.symbols(x) if isinstance(s, Dim)}
        return tuple(d for n, d in sorted(found.items()) if n not in self.function.extents)

    @cached_property
    def capacities(self) -> Point:
        """Dims that a run computes, at their largest."""
        integers = [*self.kernel.dims, *(e for t in self.types.values() for e in t.shape)]
        return {s.name: s.hi for x in integers for s in intexpr.symbols(x) if s.name in self.function.extents}

    def env(self, point: Point) -> Point:
        """Return values for all dims of this problem."""
        return {**self.capacities, **point}

    def sizes(self, point: Point) -> tuple[int, ...]:
        """Return the kernel's dims at a point."""
        env = self.env(point)
        return tuple(int(intexpr.evaluate(d, env)) for d in self.kernel.dims)

    def shape(self, value: str, point: Point) -> tuple[int, ...]:
        """Return the shape of a buffer at a point."""
        env = self.env(point)
        return tuple(int(intexpr.evaluate(e, env)) for e in self.types[value].shape)

    def nbytes(self, point: Point) -> int:
        """Return the bytes of all buffers at a point."""
        return sum(_count(self.shape(v, point)) * dtypes.nbytes(self.types[v].dtype) for v in self.values)

    def flops(self, point: Point) -> int:
        """Return the arithmetic operations that the template counts."""
        return int(intexpr.evaluate(self.kernel.flops, self.env(point)))

    def traffic(self, point: Point) -> int:
        """Return the bytes that the kernel has to move: of each buffer no more than its ports have elements."""
        env = self.env(point)
        touched: dict[tuple[str, bool], int] = {}
        for port in self.kernel.ports:
            grid = None
            if not isinstance(port, PackedOperand):
                grid = _count(int(intexpr.evaluate(c.extent, env)) for c in port.coords if c.extent is not None)
            for value, written in _touched(port):
                whole = _count(self.shape(value, point))
                key = (value, written)
                touched[key] = min(whole, touched.get(key, 0) + (whole if grid is None else grid))
        return sum(n * dtypes.nbytes(self.types[v].dtype) for (v, _), n in touched.items())

    def fits(self, point: Point, limit: int) -> bool:
        """Whether a measurement at a point stays within memory and time."""
        return self.nbytes(point) <= limit and self.flops(point) <= MOST_FLOPS

    def candidates_at(self, point: Point) -> list[Candidate]:
        """Return the candidates whose conditions hold at a point; one that is listed for several reasons counts once."""
        env = self.env(point)
        found = {c.name: c for c in self.usable if all(intexpr.evaluate(x, env) >= 0 for x in c.conditions)}
        return list(found.values())

    def job(self, index: int, point: Point, without: Iterable[str] = ()) -> PointJob:
        """Return the measurement of one point."""
        env = self.env(point)
        left_out = set(without)
        runs = []
        for c in self.candidates_at(point):
            source = self.sources[c.name]
            if c.name not in left_out:
                runs.append(CandidateRun(c.name, source.name, tuple(int(intexpr.evaluate(x, env)) for x in source.ints)))
        buffers = tuple(self._buffer(v, point) for v in self.values)
        return PointJob(
            buffers=buffers, operands=tuple(self.values.index(v) for v, _, _ in self.kernel.operands), candidates=tuple(runs),
            plain=self.usable[-1].name, reduction=int(intexpr.evaluate(self.kernel.reduction, env)), coarsest=self._coarsest(),
            stray=STRAY if _judges(self.kernel) else 0.0, index=index,
        )  # fmt: skip

    def _buffer(self, value: str, point: Point) -> BufferSpec:
        env = self.env(point)
        below = [intexpr.bounds(intexpr.substitute(e, lambda s: env.get(s.name)))[1] for e in index_extents(self.kernel).get(value, ())]
        return BufferSpec(
            self.types[value].dtype, self.shape(value, point), read=value in self.kernel.inputs, written=value in self.kernel.outputs,
            constant=value in self.constants, below=max(0, min(below, default=0)),
        )  # fmt: skip

    def _coarsest(self) -> str:
        names = {self.types[v].dtype for v in self.values} | {e.storage for e in _exprs(self.kernel) if isinstance(e, ex.Round)}
        return max((n for n in names if n in EPS), key=lambda n: EPS[n], default="float32")

    def expected(self, job: PointJob, point: Point) -> tuple[Array | None, ...] | None:
        """Return what NumPy computes for a job, None where that would take long or is not possible."""
        from dinoml.lowering.execute import Executor
        from dinoml.profile import data

        elements = max(_count(b.shape) for b in job.buffers)
        if self.flops(point) > EXACT_FLOPS or elements > EXACT_ELEMENTS or any(v.startswith(STATE) for v in self.values):
            return None
        arrays = dict(zip(self.values, data.contents(job)))
        try:
            after = Executor(LoweredFunction(self.function, (self.kernel,)))(arrays, self.env(point))
        except (IndexError, KeyError, ValueError, TypeError, NotImplementedError):
            return None
        return tuple(after[v].reshape(b.shape) if b.written else None for v, b in zip(self.values, job.buffers))


def workloads(graph: Graph, target: Target) -> list[Workload]:
    """Return the problems that the kernels of a graph pose, each once, in order of first use.

    The constant program is left out: it does not run with the model.
    """
    ctx = LoweringContext(graph, target)
    states = {STATE + s.name: s.type for s in graph.states}
    found: dict[str, Workload] = {}
    for fn in graph.functions:
        for kernel in (*lower_function(ctx, fn).kernels, *state_copies(fn)):
            listed = candidates(kernel, target)
            key = problem_key(kernel, target, [c for c in listed if not c.declined])
            constant = {v for v, _, _ in kernel.operands if v in fn.constants}
            if key not in found:
                types = {v: states[v] if v in states else fn.types[v] for v, _, _ in kernel.operands}
                found[key] = Workload(key, kernel, fn, *applicable(kernel, target, listed), types, constant)
            found[key].uses.append(kernel.nodes)
    return list(found.values())


def index_extents(kernel: Kernel) -> Mapping[str, list[IntLike]]:
    """Return the extents that the values of each buffer index, for buffers that hold run-time indices."""
    out: dict[str, list[IntLike]] = {}

    def visit(i: IntLike) -> None:
        if isinstance(i, Opaque):
            for r in ex.reads(i.payload.expr):
                out.setdefault(r.source, []).append(i.extent)
                for inner in r.index:
                    visit(inner)
        elif isinstance(i, intexpr.Binary):
            visit(i.a)
            visit(i.b)
        elif isinstance(i, intexpr.Poly):
            for a in intexpr.atoms(i):
                visit(a)

    for e in _exprs(kernel):
        for i in _integers(e):
            visit(i)
    for port in kernel.ports:
        for w in _writes(port):
            visit(w.offset)
    return out


def _integers(e: ex.Expr) -> tuple[IntLike, ...]:
    if isinstance(e, ex.Read):
        return e.index + e.guard
    if isinstance(e, ex.Index):
        return (e.value,)
    return e.conditions if isinstance(e, ex.Select) else ()


def _exprs(kernel: Kernel) -> Iterator[ex.Expr]:
    for port in kernel.ports:
        for tree in port.exprs:
            yield from ex.walk(tree)


def _writes(port: Port) -> tuple[Write, ...]:
    return port.writes if isinstance(port, StoreAccessor) else port.side if isinstance(port, LoadAccessor) else ()


def _touched(port: Port) -> Iterator[tuple[str, bool]]:
    if isinstance(port, (StridedOperand, PackedOperand)):
        yield port.source, False
        return
    yield from dict.fromkeys((r.source, False) for e in port.exprs for r in ex.reads(e))
    yield from dict.fromkeys((w.target, True) for w in _writes(port))


def _judges(kernel: Kernel) -> bool:
    """Whether a store compares or rounds what the template computed, so that a last-bit difference may become a large one."""
    judging = {"eq", "ne", "lt", "le", "gt", "ge", "floor", "ceil", "round", "trunc", "sign"}
    stores = [p for p in kernel.ports if isinstance(p, StoreAccessor) and p.dtype]
    nodes = [e for p in stores for w in p.writes for e in ex.walk(w.expr)]
    return any((isinstance(e, ex.Call) and e.fn in judging) or (isinstance(e, ex.Cast) and dtypes.DTYPES[e.dtype].kind != "float") for e in nodes)


def _count(shape: Iterable[int]) -> int:
    n = 1
    for e in shape:
        n *= e
    return n
