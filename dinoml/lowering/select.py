"""Choosing candidates: the listed order, unless a measured plan says otherwise for a problem.

A problem is known by a digest over its template, types, expressions and symbolic extents; names of values, nodes and dims take
no part, so a plan survives recompiling and renaming.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from dinoml.codegen.kernel_source import render_kernel
from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike, Symbol
from dinoml.lowering.kernels import Kernel
from dinoml.lowering.plan import Variant
from dinoml.lowering.templates import Candidate, Problem, candidates, template
from dinoml.targets import Target

MEASURED = ("ranges", "exclude", "timings", "why")  # what a plan says about a problem beyond naming it


class Selector:
    """Chooses the variants of each kernel. Call it with a kernel; it returns (variants, declined candidates).

    `plan` is an execution plan as dinoml.profile makes and checks it; `report` the profile report behind it, if it was measured now.
    """

    def __init__(self, target: Target, plan: dict[str, Any] | None = None, report: Any = None) -> None:
        self.target, self.plan, self.report = target, plan, report
        self.used: dict[str, Any] = {}
        self.ignored: dict[str, str] = {}  # problems of the plan that could not be followed, with the reason

    def __call__(self, kernel: Kernel) -> tuple[tuple[Variant, ...], tuple[Candidate, ...]]:
        listed = candidates(kernel, self.target)
        usable, declined = applicable(kernel, self.target, listed)
        key = problem_key(kernel, self.target, [c for c in listed if not c.declined])
        entry = self._entry(key)
        variants: list[Variant] = []
        for c in self._order(key, entry, usable, kernel):
            if any(intexpr.bounds(x)[1] < 0 for x in c.conditions):
                continue  # a range of the plan that this problem's extents never reach
            conditions = tuple(x for x in c.conditions if not intexpr.nonnegative(x))
            source = render_kernel(kernel, c)
            if any(v.source.name == source.name and set(v.conditions) <= set(conditions) for v in variants):
                continue  # whenever this one could be used, the same code has been used already
            variants.append(Variant(source, conditions))
            if not conditions:
                break
        if not variants or variants[-1].conditions:
            raise AssertionError(f"{kernel.template}: no candidate takes every extent of {kernel.dims}")
        self._note(key, kernel, variants, entry if key not in self.ignored else {})
        return tuple(variants), tuple(declined)

    def _entry(self, key: str) -> dict[str, Any]:
        found: dict[str, Any] = (self.plan or {}).get("problems", {}).get(key, {})
        return found if "ranges" in found else {}

    def _order(self, key: str, entry: dict[str, Any], listed: list[Candidate], kernel: Kernel) -> list[Candidate]:
        if not entry:
            return listed
        from dinoml.profile.plan import PlanError, apply_choice

        try:
            return apply_choice(entry, listed, kernel.dims)
        except PlanError as error:
            self.ignored[key] = str(error)
            return listed

    def _note(self, key: str, kernel: Kernel, variants: Sequence[Variant], entry: dict[str, Any]) -> None:
        used = self.used.setdefault(key, {
            "template": kernel.template,
            "nodes": list(kernel.nodes),
            "uses": [],
            "dims": [str(d) for d in kernel.dims],
            "variants": [
                {"candidate": v.source.candidate.name, "kernel": v.source.name, "conditions": [str(x) for x in v.conditions]} for v in variants
            ],
            **{k: entry[k] for k in MEASURED if k in entry},
        })  # fmt: skip
        used["uses"].append(list(kernel.nodes))

    def unused(self) -> dict[str, str]:
        """Return the problems of the plan that were not followed by the kernels chosen so far, each with the reason."""
        problems = (self.plan or {}).get("problems", {})
        missing = {k: "no kernel of this model poses this problem" for k, p in problems.items() if "ranges" in p and k not in self.used}
        return {**self.ignored, **missing}

    def plan_json(self) -> dict[str, Any]:
        """Return what was chosen for every problem, for the artifact's plan.json; where it was measured, it is a plan again."""
        out = {"schema": 1, "target": self.target.to_json(), "problems": self.used, "measured": bool(self.plan)}
        return {**out, "ignored": self.unused()} if self.plan else out


def applicable(kernel: Kernel, target: Target, listed: Iterable[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Return (candidates that some extents of the kernel admit, the others with the reason in `declined`)."""
    usable: list[Candidate] = []
    declined: list[Candidate] = []
    for c in listed:
        failing = [j for j, x in enumerate(c.conditions) if intexpr.bounds(x)[1] < 0]
        if c.declined or not failing:
            (declined if c.declined else usable).append(c)
        else:
            declined.append(replace(c, declined=_why(kernel, target, c, failing[0])))
    return usable, declined


def _why(kernel: Kernel, target: Target, candidate: Candidate, condition: int) -> str:
    """Return in words why a condition never holds.

    The condition has the kernel's numbers in it already; the same candidate for symbolic dims tells which dims it is about.
    """
    module = template(kernel.template)
    names = getattr(module, "DIM_NAMES", tuple(f"dim{i}" for i in range(len(kernel.dims))))
    symbols = tuple(Symbol(n) for n in names)
    try:
        listed = module.candidates(Problem(replace(kernel, dims=symbols), target, dict(kernel.params)))
        x = next(c for c in listed if c.name == candidate.name).conditions[condition]
    except Exception:  # candidates may insist on numbers, or be others for other numbers
        x = candidate.conditions[condition]
    values = dict(zip(names, kernel.dims))
    here = ", ".join(f"{n} is {values[n]}" for n in names if n in {s.name for s in intexpr.symbols(x)})
    if here:
        return f"needs {in_words(x)}; {here}"
    return "its conditions on the extents never hold here" if isinstance(x, int) else f"needs {in_words(x)}, which the limits of the dims exclude"


def in_words(x: IntLike) -> str:
    """Return the condition x >= 0 as a comparison, for example "m <= 16"."""
    terms = intexpr.terms_of(x)
    constant = terms.pop((), 0)
    if terms and all(c < 0 for c in terms.values()):
        return f"{_plain(intexpr.from_terms({m: -c for m, c in terms.items()}))} <= {constant}"
    if terms and all(c > 0 for c in terms.values()):
        return f"{_plain(intexpr.from_terms(terms))} >= {-constant}"
    return f"{x} >= 0"


def _plain(x: IntLike) -> str:
    return str(x).removeprefix("(").removesuffix(")") if isinstance(x, intexpr.Poly) else str(x)


def problem_key(kernel: Kernel, target: Target, listed: Sequence[Candidate]) -> str:
    """Return the digest of a problem: the rendered text of its plain candidate, its run-time integers, its extents, its target."""
    if not listed:
        raise AssertionError(f"{kernel.template} has no candidate for {target}")
    source = render_kernel(kernel, listed[-1])
    integers = (*kernel.dims, *source.ints)
    names: dict[str, Symbol] = {}
    for x in integers:
        for s in _symbols_in_order(x):
            names.setdefault(s.name, Symbol(f"d{len(names)}", s.lo, s.hi, s.divisible_by))
    neutral = [str(intexpr.substitute(x, lambda s: names[s.name])) for x in integers]
    ranges = [(s.lo, s.hi, s.divisible_by) for s in names.values()]
    parts = repr((kernel.template, source.text, neutral, ranges, sorted(target.key.items(), key=str)))
    return hashlib.sha256(parts.encode()).hexdigest()[:24]


def _symbols_in_order(x: IntLike) -> Iterable[Symbol]:
    if isinstance(x, Symbol):
        yield x
    elif isinstance(x, intexpr.Binary):
        yield from _symbols_in_order(x.a)
        yield from _symbols_in_order(x.b)
    elif isinstance(x, intexpr.Poly):
        for mono, _ in x.terms:
            for a in mono:
                yield from _symbols_in_order(a)
