"""The run plan: kernels with their candidates, the buffers they touch, and where those lie."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dinoml.codegen.integers import IntTable
from dinoml.codegen.kernel_source import KernelSource
from dinoml.ir import intexpr, shapes
from dinoml.ir.graph import Function, Graph, TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.ir.shapes import Dim
from dinoml.lowering import fit
from dinoml.lowering.kernels import SLOTS, Kernel, StoreAccessor, Write, flat_read
from dinoml.lowering.lower import POINTWISE, LoweredFunction
from dinoml.lowering.memory import ArenaPlan, Buffer, plan_arena
from dinoml.lowering.templates import Candidate

STATE = "state!"  # prefix of the buffer name under which a state is written


@dataclass(frozen=True)
class Variant:
    """One implementation of a step; used when all conditions are >= 0."""

    source: KernelSource
    conditions: tuple[IntLike, ...]


@dataclass(frozen=True)
class Step:
    """One launch: a kernel and its variants, tried in order."""

    kernel: Kernel
    variants: tuple[Variant, ...]
    declined: tuple[Candidate, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a buffer is: kind is a module_desc.h operand kind."""

    kind: str
    index: int


@dataclass(frozen=True)
class FunctionPlan:
    """Everything that generated code says about one function."""

    function: Function
    steps: tuple[Step, ...]
    places: Mapping[str, Place]
    buffers: tuple[Buffer, ...]
    arena: tuple[ArenaPlan, ...]
    ints: tuple[IntLike, ...]
    extents: tuple[str, ...]  # data-dependent dims in slot order


Choose = Callable[[Kernel], tuple[tuple[Variant, ...], tuple[Candidate, ...]]]


def state_copies(fn: Function, written_in_place: frozenset[str] = frozenset()) -> list[Kernel]:
    """Return the kernels that move new contents into state buffers at the end of a function."""
    out = []
    for w in fn.writes:
        if w.state in written_in_place:
            continue
        t = fn.types[w.value]
        n = t.numel
        c = intexpr.Symbol("o0", extent=n)
        draft = Write(STATE + w.state, t.dtype, c, flat_read(w.value, t.dtype, c))
        fitted = fit.fit((c,), SLOTS, [c])
        coords = tuple(intexpr.Symbol(f"c{i}", extent=e) for i, e in enumerate(fitted.extents))
        offset = intexpr.substitute(draft.offset, fitted)
        write = Write(draft.target, draft.storage, offset, fit.rename(draft.expr, fitted))
        out.append(Kernel(POINTWISE, (StoreAccessor("body", coords, "", (write,)),), fitted.extents, nodes=(f"write {w.state}",), ops=("write",)))
    return out


def plan_function(graph: Graph, lowered: LoweredFunction, choose: Choose, dims: Mapping[str, Dim], constant_program: bool = False) -> FunctionPlan:
    """Return the run plan of a lowered function. `dims` are the module's dims that callers choose, in its order."""
    fn = lowered.function
    kernels = [*lowered.kernels, *state_copies(fn)]
    steps = tuple(_step(k, choose, frozenset(fn.extents)) for k in kernels)
    places = _fixed_places(graph, fn, constant_program)
    extents = tuple(fn.extents)
    for i, d in enumerate(extents):
        places[fn.extents[d]] = Place("extent", i)
    buffers = _buffers(fn, steps, places)
    for i, b in enumerate(buffers):
        places[b.value] = Place("arena", i)
    table = IntTable()
    for step in steps:
        for v in step.variants:
            joined = joined_condition(v.conditions)
            for x in (*v.source.ints, *(() if joined is None else (joined,))):
                table.slot(x)
    for value in (*fn.inputs, *(o.value for o in fn.outputs), *(b.value for b in buffers)):
        t = fn.types[value]
        for x in (t.nbytes, *t.shape):
            table.slot(x)
    return FunctionPlan(fn, steps, places, buffers, plan_arena(buffers, dims, not constant_program), tuple(table.items), extents)


def _step(kernel: Kernel, choose: Choose, extents: frozenset[str]) -> Step:
    """Return a launch. Variants are chosen before it runs, so none may depend on what other launches find out."""
    variants, declined = choose(kernel)
    early = tuple(v for v in variants if not any(s.name in extents for c in v.conditions for s in intexpr.symbols(c)))
    return Step(kernel, early, declined)


def joined_condition(conditions: tuple[IntLike, ...]) -> IntLike | None:
    """Return one integer that is non-zero exactly when all conditions are >= 0, None for no conditions."""
    if not conditions:
        return None
    low = conditions[0]
    for c in conditions[1:]:
        low = intexpr.minimum(low, c)
    return intexpr.maximum(intexpr.add(low, 1), 0)


def _fixed_places(graph: Graph, fn: Function, constant_program: bool) -> dict[str, Place]:
    stored = {c.name: i for i, c in enumerate(graph.constants)}
    sources = {c.name: i for i, c in enumerate(graph.sources)}
    states = {s.name: i for i, s in enumerate(graph.states)}
    places: dict[str, Place] = {}
    if constant_program:
        places.update({i: Place("source", sources[i]) for i in fn.inputs})
        places.update({o.value: Place("stored", stored[o.name]) for o in fn.outputs})
        return places
    places.update({v: Place("input", i) for i, v in enumerate(fn.inputs)})
    places.update({v: Place("stored", stored[v]) for v in fn.constants})
    places.update({v: Place("state", states[s]) for v, s in fn.states.items()})
    places.update({STATE + s: Place("state", i) for s, i in states.items()})
    places.update({o.value: Place("output", i) for i, o in enumerate(fn.outputs)})
    return places


def _buffers(fn: Function, steps: tuple[Step, ...], places: Mapping[str, Place]) -> tuple[Buffer, ...]:
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for i, step in enumerate(steps):
        for value, _, _ in step.kernel.operands:
            if value not in places:
                first.setdefault(value, i)
                last[value] = i
    return tuple(Buffer(v, fn.types[v].dtype, _bytes(fn.types[v]), first[v], last[v]) for v in first)


def _bytes(t: TensorType) -> IntLike:
    return t.nbytes


def capacity(e: IntLike, extents: frozenset[str]) -> IntLike:
    """Return an extent with data-dependent dims replaced by their capacity."""
    return intexpr.substitute(e, lambda s: s.hi if isinstance(s, shapes.Dim) and s.name in extents else None)
