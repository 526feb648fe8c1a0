"""Execution plans: which candidate a problem uses in which range of its extents, with the numbers that justify it.

A plan is JSON: {schema, target, device, problems: {key: {template, nodes, ranges, exclude?, timings, why, …}}}. `nodes` and
`dims` are comments. A range is {candidate, over?, upto?, from?}: `over` lists positions among the kernel's dims whose product is
compared. Ranges are tried in order; what they do not cover falls to the listed order without the candidates in `exclude`, which
failed. The plain candidate is always the last.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.templates import Candidate
from dinoml.targets import Target

SCHEMA = 1


class PlanError(ValueError):
    """A plan that cannot be used, or an entry of it."""


def load_plan(plan: Mapping[str, Any] | str | os.PathLike[str], target: Target) -> dict[str, Any]:
    """Return a checked plan from a dict or a JSON file; raise PlanError for another schema, another target or a malformed entry."""
    what = "execution plan"
    if isinstance(plan, Mapping):
        data: Any = dict(plan)
    else:
        what = f"execution plan {os.fspath(plan)}"
        try:
            data = json.loads(Path(plan).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise PlanError(f"{what} cannot be read: {error}") from error
        except json.JSONDecodeError as error:
            raise PlanError(f"{what} is no JSON: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("problems"), Mapping):
        raise PlanError(f"{what}: not an execution plan (it has no `problems`); `dinoml profile` writes one")
    if data.get("schema") != SCHEMA:
        raise PlanError(f"{what}: schema {data.get('schema')!r} is not {SCHEMA}, which this version reads; profile again")
    _check_target(data.get("target"), target, what)
    for key, entry in data["problems"].items():
        _check_entry(f"{what}: problem {key}", entry)
    return data


def _check_target(given: Any, target: Target, what: str) -> None:
    try:
        made_for = Target.of(given)
    except (TypeError, ValueError) as error:
        raise PlanError(f"{what}: its target {given!r} is none: {error}") from error
    if made_for.key != target.key:
        raise PlanError(f"{what} was made for {made_for}, not for {target}; profile on that target, or compile for the plan's")


def _check_entry(what: str, entry: Any) -> None:
    if not isinstance(entry, Mapping):
        raise PlanError(f"{what} is {entry!r} instead of an object")
    ranges = entry.get("ranges", [])
    if not isinstance(ranges, list):
        raise PlanError(f"{what}: ranges is {ranges!r} instead of a list")
    exclude = entry.get("exclude", [])
    if not isinstance(exclude, list) or not all(isinstance(n, str) for n in exclude):
        raise PlanError(f"{what}: exclude is {exclude!r} instead of a list of candidates")
    for r in ranges:
        if not isinstance(r, Mapping) or not isinstance(r.get("candidate"), str):
            raise PlanError(f"{what}: range {r!r} names no candidate")
        over = r.get("over", [])
        bounded = [r[k] for k in ("upto", "from") if k in r]
        if not all(_is_int(b) for b in bounded) or not isinstance(over, list) or not all(_is_int(i) and i >= 0 for i in over):
            raise PlanError(f"{what}: range {dict(r)!r} needs whole numbers in over, upto and from")
        if bounded and not over:
            raise PlanError(f"{what}: range {dict(r)!r} has a bound but does not say over which dims")


def _is_int(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, bool)


def apply_choice(chosen: Mapping[str, Any], listed: Sequence[Candidate], dims: Sequence[IntLike]) -> list[Candidate]:
    """Return the candidates in the order of a plan's entry, its ranges as conditions, followed by the listed order.

    Raises PlanError when the entry names a candidate or a dim that does not exist.
    """
    by_name = {c.name: c for c in listed}
    out: list[Candidate] = []
    for r in chosen["ranges"]:
        c = by_name.get(r["candidate"])
        if c is None:
            raise PlanError(f"candidate {r['candidate']!r} is not one of {', '.join(by_name)}")
        out.append(replace(c, conditions=c.conditions + _bounds(r, dims)))
    exclude = set(chosen.get("exclude", ()))
    return [*out, *(c for c in listed[:-1] if c.name not in exclude), listed[-1]]


def _bounds(r: Mapping[str, Any], dims: Sequence[IntLike]) -> tuple[IntLike, ...]:
    over = r.get("over", [])
    if any(i >= len(dims) for i in over):
        raise PlanError(f"range over dims {over}: the kernel has {len(dims)}")
    value = intexpr.product(dims[i] for i in over)
    upper = (intexpr.add(r["upto"], intexpr.mul(-1, value)),) if "upto" in r else ()
    lower = (intexpr.add(value, -r["from"]),) if "from" in r else ()
    return upper + lower


def make_plan(target: Target, device: Mapping[str, Any], problems: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return an execution plan."""
    return {"schema": SCHEMA, "target": target.to_json(), "device": dict(device), "problems": {k: dict(p) for k, p in sorted(problems.items())}}
