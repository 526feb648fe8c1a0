"""What the compiler decided, as JSON for the artifact: kernels with their reasons, memory with its plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dinoml.ir import intexpr
from dinoml.ir.graph import Graph
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.memory import lower_bound
from dinoml.lowering.plan import FunctionPlan, Step


def condition_text(x: IntLike) -> str:
    """Return the condition x >= 0 as a reader writes it: `batch*seq <= 16`."""
    terms = intexpr.terms_of(x)
    small = intexpr.from_terms({m: -c for m, c in terms.items() if c < 0})
    large = intexpr.from_terms({m: c for m, c in terms.items() if c > 0})
    return f"{small} <= {large}"


def kernels_json(plans: Sequence[FunctionPlan]) -> dict[str, Any]:
    """Return kernels.json: one entry per launch, in order, and the distinct objects."""
    rows = [_kernel(p, i, s) for p in plans for i, s in enumerate(p.steps)]
    return {"kernels": rows, "objects": sorted({v["kernel"] for r in rows for v in r["variants"]})}


def _kernel(p: FunctionPlan, i: int, s: Step) -> dict[str, Any]:
    k = s.kernel
    first = s.variants[0].source
    return {
        "function": p.function.name,
        "step": i,
        "name": first.name,
        "template": k.template,
        "candidate": first.candidate.name,
        "fused": list(k.nodes),
        "ops": list(k.ops),
        "source": k.source,
        "dims": [str(d) for d in k.dims],
        "reads": list(k.inputs),
        "writes": list(k.outputs),
        "variants": [
            {"kernel": v.source.name, "candidate": v.source.candidate.name, "condition": " and ".join(map(condition_text, v.conditions))}
            for v in s.variants
        ],
        "declined": [{"candidate": c.name, "reason": c.declined} for c in s.declined],
        "not_fused": [{"edge": edge, "reason": reason} for edge, reason in k.reasons],
    }


def memory_json(graph: Graph, plans: Sequence[FunctionPlan]) -> dict[str, Any]:
    """Return memory.json: buffers with lifetimes, arena plans with the bytes that no plan can avoid, constants."""
    functions = []
    for p in plans:
        names = [n for n in graph.dims if n not in p.extents]
        functions.append({
            "name": p.function.name,
            "buffers": [
                {"value": b.value, "dtype": b.dtype, "bytes": str(b.nbytes), "first": b.first, "last": b.last} for b in p.buffers
            ],
            "plans": [
                {"upper": dict(zip(names, a.upper)), "bytes": a.nbytes, "least_possible": lower_bound(p.buffers, dict(zip(names, a.upper)))}
                for a in p.arena
            ],
        })  # fmt: skip
    constants = [{"name": c.name, "type": str(c.type), "bytes": intexpr.bounds(c.type.nbytes)[1]} for c in graph.constants]
    return {"functions": functions, "constants": constants, "constant_bytes": sum(c["bytes"] for c in constants)}
