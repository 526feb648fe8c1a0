"""Choosing candidates: the listed order, unless a measured plan says otherwise for a problem.

A problem is known by a digest over its template, types, expressions and symbolic extents; names of values and nodes take no
part, so a plan survives recompiling.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from dinoml.codegen.kernel_source import KernelSource, render_kernel
from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.kernels import Kernel
from dinoml.lowering.plan import Variant
from dinoml.lowering.templates import Candidate, candidates
from dinoml.targets import Target


@dataclass(frozen=True)
class Choice:
    """A measured decision for one problem: candidates in order with the integer ranges in which each is used."""

    variants: tuple[tuple[str, tuple[tuple[IntLike, int], ...]], ...]


class Selector:
    """Chooses the variants of each kernel. Call it with a kernel; it returns (variants, declined candidates)."""

    def __init__(self, target: Target, plan: dict[str, Any] | None = None) -> None:
        self.target = target
        self.plan = plan
        self.report: Any = None
        self.used: dict[str, Any] = {}
        self._rendered: dict[tuple[str, str], KernelSource] = {}

    def __call__(self, kernel: Kernel) -> tuple[tuple[Variant, ...], tuple[Candidate, ...]]:
        listed = candidates(kernel, self.target)
        open_ones = [c for c in listed if not c.declined]
        key = problem_key(kernel, self.target, open_ones)
        order = self._order(key, open_ones)
        variants: list[Variant] = []
        declined = [c for c in listed if c.declined]
        for c in order:
            if any(intexpr.bounds(x)[1] < 0 for x in c.conditions):
                continue  # never true for this problem's extents
            conditions = tuple(x for x in c.conditions if not intexpr.nonnegative(x))
            variants.append(Variant(render_kernel(kernel, c), conditions))
            if not conditions:
                break
        if not variants or variants[-1].conditions:
            raise AssertionError(f"{kernel.template}: no candidate takes every extent of {kernel.dims}")
        self.used[key] = {
            "template": kernel.template,
            "nodes": list(kernel.nodes),
            "variants": [{"candidate": v.source.candidate.name, "conditions": [str(x) for x in v.conditions]} for v in variants],
        }
        return tuple(variants), tuple(declined)

    def _order(self, key: str, listed: list[Candidate]) -> list[Candidate]:
        chosen = (self.plan or {}).get("problems", {}).get(key)
        if not chosen:
            return listed
        from dinoml.profile.plan import apply_choice

        return apply_choice(chosen, listed)

    def plan_json(self) -> dict[str, Any]:
        """Return what was chosen for every problem, for the artifact's plan.json."""
        return {"schema": 1, "target": self.target.to_json(), "problems": self.used, "measured": bool(self.plan)}


def problem_key(kernel: Kernel, target: Target, listed: list[Candidate]) -> str:
    """Return the digest of a problem: the rendered text of its plain candidate, its extents, its target."""
    if not listed:
        raise AssertionError(f"{kernel.template} has no candidate for {target}")
    text = render_kernel(kernel, listed[-1]).text
    extents = [f"{d}:{intexpr.bounds(d)}" for d in kernel.dims]
    parts = repr((kernel.template, text, extents, sorted(target.key.items(), key=str)))
    return hashlib.sha256(parts.encode()).hexdigest()[:24]
