"""module.cpp: the run plan of all functions as constant tables (see csrc/runtime/module_desc.h)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dinoml.codegen.kernel_source import environment
from dinoml.ir import dtypes, intexpr
from dinoml.ir.graph import Graph, TensorType
from dinoml.ir.intexpr import Binary, IntLike, Symbol
from dinoml.ir.shapes import Dim
from dinoml.lowering.plan import FunctionPlan, capacity, joined_condition
from dinoml.targets import Target


class _Axes:
    """Axis tables, shared by equal shapes."""

    def __init__(self) -> None:
        self.tables: dict[tuple[Any, ...], str] = {}

    def name(self, axes: list[dict[str, Any]]) -> str:
        key = tuple((a["kind"], a["value"], a["slot"]) for a in axes)
        return self.tables.setdefault(key, f"axes_{len(self.tables)}")

    def render(self) -> list[dict[str, Any]]:
        return [{"name": n, "axes": [{"kind": k, "value": v, "slot": s} for k, v, s in key]} for key, n in self.tables.items()]


def render_int(x: IntLike, dims: Mapping[str, int | str]) -> str:
    """Return C++ that evaluates a dims-only expression; `dims` gives positions in d[], or the text that stands for a dim."""
    if isinstance(x, int):
        return f"{x}ll"
    if isinstance(x, Symbol):
        at = dims[x.name]
        return at if isinstance(at, str) else f"d[{at}]"
    if isinstance(x, Binary):
        fn = {"//": "floor_div", "%": "floor_mod", "min": "lesser", "max": "greater"}[x.op]
        return f"{fn}({render_int(x.a, dims)}, {render_int(x.b, dims)})"
    parts = []
    for mono, c in intexpr.terms_of(x).items():
        names = [render_int(a, dims) for a in mono]
        parts.append(" * ".join(([f"{c}ll"] if c != 1 or not names else []) + names))
    return "(" + " + ".join(parts) + ")"


def c_string(text: str) -> str:
    """Return text escaped for a C string literal."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def render_module(graph: Graph, plans: Sequence[FunctionPlan], constant_program: FunctionPlan | None, target: Target, digest: str) -> str:
    """Return the text of module.cpp."""
    extents = {d for p in plans for d in p.extents}
    dims = [d for d in graph.dims.values() if d.name not in extents]
    order = {d.name: i for i, d in enumerate(dims)}
    axes = _Axes()
    kernels = list(
        dict.fromkeys(v.source.name for p in [*plans, *([constant_program] if constant_program else [])] for s in p.steps for v in s.variants)
    )
    scratches = sorted(
        {
            v.source.name
            for p in [*plans, *([constant_program] if constant_program else [])]
            for s in p.steps
            for v in s.variants
            if v.source.candidate.scratch
        }
    )
    functions = [_function(f"f{i}", p, order, axes, kernels, False) for i, p in enumerate(plans)]
    if constant_program:
        functions.append(_function("constants", constant_program, order, axes, kernels, True))
    stored = {c.name: i for i, c in enumerate(graph.constants)}
    sources = [{"tensor": _fixed(c.name, c.type, axes), "stored": stored.get(c.name, -1)} for c in graph.sources]
    return environment().get_template("module.cpp.jinja").render(
        name=c_string(graph.name), target=target.name, features=",".join(target.features), digest=digest, kernels=kernels, scratches=scratches,
        dims=dims,
        functions=functions, stored=[_fixed(c.name, c.type, axes) for c in graph.constants], sources=sources,
        states=[_fixed(s.name, s.type, axes) for s in graph.states], axes=axes.render(),
    )  # fmt: skip


def _fixed(name: str, t: TensorType, axes: _Axes) -> str:
    shape = [intexpr.bounds(e)[1] for e in t.shape]
    table = axes.name([{"kind": "fixed", "value": e, "slot": -1} for e in shape])
    size = dtypes.nbytes(t.dtype)
    for e in shape:
        size *= e
    return f'{{"{c_string(name)}", {dtypes.DTYPES[t.dtype].abi}, {len(shape)}, {table}, -1, {size}}}'


def _function(ns: str, p: FunctionPlan, dims: Mapping[str, int], axes: _Axes, kernels: list[str], constant_program: bool) -> dict[str, Any]:
    slots = {x: i for i, x in enumerate(p.ints)}
    extents = frozenset(p.extents)
    known: dict[str, int | str] = {**dims, **{d: f"e[{k}]" for k, d in enumerate(p.extents)}}

    def late(x: IntLike) -> bool:
        return any(s.name in extents for s in intexpr.symbols(x))

    def tensor(name: str, t: TensorType, output: bool) -> str:
        rows = []
        for e in t.shape:
            if isinstance(e, int):
                rows.append({"kind": "fixed", "value": e, "slot": -1})
            elif isinstance(e, Dim) and e.name in extents:
                rows.append({"kind": "extent", "value": slots[e], "slot": p.extents.index(e.name)})
            elif isinstance(e, Dim):
                rows.append({"kind": "dim", "value": dims[e.name], "slot": -1})
            elif late(e):
                rows.append({"kind": "extent", "value": slots[e], "slot": -1})
            else:
                rows.append({"kind": "computed", "value": slots[e], "slot": -1})
        return f'{{"{c_string(name)}", {dtypes.DTYPES[t.dtype].abi}, {t.rank}, {axes.name(rows)}, {slots[t.nbytes]}, 0}}'

    fn = p.function
    return {
        "name": c_string(fn.name),
        "ns": ns,
        "constant_program": constant_program,
        "evals": [f"v[{i}] = {render_int(capacity(x, extents), dims)};" for x, i in slots.items()],
        "late": [f"v[{i}] = {render_int(x, known)};" for x, i in slots.items() if late(x)],
        "inputs": [tensor(i, fn.types[i], False) for i in fn.inputs],
        "outputs": [tensor(o.name, fn.types[o.value], True) for o in fn.outputs],
        "n_ints": len(slots),
        "buffers": [{"value": c_string(b.value), "bytes": slots[b.nbytes], "dtype": dtypes.DTYPES[b.dtype].abi} for b in p.buffers],
        "plans": p.arena,
        "steps": [_step(i, s, p, slots, kernels) for i, s in enumerate(p.steps)],
        "n_extents": len(p.extents),
    }


def _step(i: int, s: Any, p: FunctionPlan, slots: Mapping[IntLike, int], kernels: list[str]) -> dict[str, Any]:
    variants = []
    for v in s.variants:
        condition = joined_condition(v.conditions)
        variants.append({
            "condition": -1 if condition is None else slots[condition],
            "kernel": v.source.name,
            "kernel_index": kernels.index(v.source.name),
            "scratch": f"{v.source.name}_scratch" if v.source.candidate.scratch else "nullptr",
            "ints": [slots[x] for x in v.source.ints],
            "operands": [p.places[name] for name, _, _ in v.source.operands],
        })  # fmt: skip
    return {"i": i, "node": c_string("+".join(s.kernel.nodes)), "source": c_string(s.kernel.source), "variants": variants}
