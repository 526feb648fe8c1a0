"""`dinoml ops`: the operators and what they admit."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from dinoml.cli import output, status

_BECOMES = {
    "pointwise": "generated code, from the expression; fused into the kernels around it",
    "view": "no code where an alias will do; otherwise part of the consumer's reads, or a copy",
    "composite": "the operators of its expansion",
    "kernel": "a kernel template",
}

_PLAIN = ("name", "summary", "call", "same as", "kind", "becomes", "expression", "from", "notes")


def run(arguments: argparse.Namespace) -> int:
    """List the operators, or show one."""
    if arguments.action == "list":
        return _list(arguments)
    if arguments.name is None:
        raise status.CliError("ops show: which operator? `dinoml ops list` names them")
    return _show(arguments)


def _list(arguments: argparse.Namespace) -> int:
    from dinoml.operators import registry

    entries = [e for e in registry.index().entries.values() if not e.internal]
    if arguments.name:
        entries = [e for e in entries if any(arguments.name in n for n in (e.name, e.path, *e.aliases))]
    rows = [{"name": e.name, "family": e.path.split("/")[0], "kind": e.kind, "summary": e.summary, "aliases": e.aliases} for e in entries]
    if arguments.json:
        output.print_json(rows)
        return status.OK
    output.print_table("", ("operator", "family", "kind", "aliases", "summary"),
                       [(r["name"], r["family"], r["kind"], len(r["aliases"]) or "", r["summary"]) for r in rows], right=("aliases",))  # fmt: skip
    names = sum(1 + len(e.aliases) for e in entries)
    print(f"{len(entries)} operators, {names} public names. `dinoml ops show NAME` tells more.")
    return status.OK


def _show(arguments: argparse.Namespace) -> int:
    facts = _facts(arguments.name)
    if arguments.json:
        output.print_json(facts)
        return status.OK
    output.print_pairs([(k, facts[k]) for k in _PLAIN if facts.get(k)])
    types = facts["types"]
    operands = [("input", i["name"], " ".join(types.get(i["dtype"], [i["dtype"]])), "optional" if i["optional"] else "") for i in facts["inputs"]]
    operands += [("output", o["name"], " ".join(types.get(o["dtype"], [o["dtype"]])), "") for o in facts["outputs"]]
    output.print_table("operands", ("", "name", "dtypes", ""), operands)
    if facts["attributes"]:
        rows = [(a["name"], a["type"], a["default"], " ".join(map(str, a["choices"])), a["why"]) for a in facts["attributes"]]
        output.print_table("attributes", ("name", "type", "default", "choices", "meaning"), rows)
    if facts["limits"]:
        output.print_table("refused", ("when", "why"), [(x["when"], x["why"]) for x in facts["limits"]])
    output.print_pairs([(k, " ".join(facts[k])) for k in ("aliases", "sugar", "files") if facts[k]])
    return status.OK


def _facts(name: str) -> dict[str, Any]:
    from dinoml.operators import binding, registry
    from dinoml.paths import operators_root

    public = registry.public(name)
    spec = public.operator.spec
    folder = spec.path.parent
    fixed = ", ".join(f"{k}={v!r}" for k, v in public.alias.attrs.items()) if public.alias else ""
    return {
        "name": spec.name,
        "summary": spec.summary,
        "call": f"dinoml.ops.{name}{inspect.Signature(list(binding.signature(name).parameters.values()))}",
        "same as": f"dinoml.ops.{spec.name}" + (f" with {fixed}" if fixed else "") if public.alias else "",
        "kind": spec.kind,
        "becomes": _BECOMES[spec.kind],
        "expression": spec.expr,
        "from": spec.source,
        "notes": spec.notes,
        "types": {k: list(v) for k, v in spec.types.items()},
        "inputs": [{"name": i.name, "dtype": i.dtype, "optional": i.optional, "variadic": i.variadic} for i in spec.inputs],
        "outputs": [{"name": o.name, "dtype": o.dtype} for o in spec.outputs],
        "attributes": [{"name": a.name, "type": a.type, "default": a.default, "choices": list(a.choices), "why": a.why} for a in spec.attrs],
        "limits": [{"when": x.when, "why": x.why} for x in spec.limits],
        "aliases": [a.name for a in spec.aliases],
        "sugar": list(spec.sugar),
        "files": sorted(str(f.relative_to(operators_root().parent)) for f in folder.iterdir() if f.is_file()),
    }
