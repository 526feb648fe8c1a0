"""`dinoml explain`: why each kernel is what it is."""

from __future__ import annotations

import argparse
from typing import Any

from dinoml.cli import output, status
from dinoml.cli.artifact_files import ArtifactFiles


def run(arguments: argparse.Namespace) -> int:
    """Explain one kernel, or all of them."""
    files = ArtifactFiles(arguments.artifact)
    kernels = [{**k, "plan": _entries(files, k)} for k in files.find_kernels(arguments.kernel)]
    if arguments.json:
        output.print_json(kernels)
        return status.OK
    for kernel in kernels:
        _show(kernel)
    return status.OK


def _entries(files: ArtifactFiles, kernel: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of the plan that decided on this kernel."""
    entries = files.plan.get("entries", files.plan.get("selections", []))
    names = {kernel["name"], kernel.get("problem"), *(v.get("kernel") for v in kernel.get("variants", []))} - {None}
    return [e for e in entries if e.get("kernel") in names or e.get("problem") in names or e.get("key") in names]


def _show(kernel: dict[str, Any]) -> None:
    variants = kernel.get("variants") or [{"candidate": kernel.get("candidate", ""), "condition": ""}]
    decided = "measured (plan)" if kernel["plan"] else "first of the ordered list that applies"
    output.print_pairs([
        ("kernel", kernel["name"]),
        ("template", kernel.get("template", "")),
        ("covers", " ".join(kernel.get("fused", []))),
        ("operators", " ".join(kernel.get("ops", []))),
        ("source", kernel.get("source", "")),
        ("chosen", "; ".join(f"{v['candidate']}" + (f" if {v['condition']}" if v.get("condition") else "") for v in variants)),
        ("because", decided),
        *([("cost", kernel["cost"])] if kernel.get("cost") else []),
    ])  # fmt: skip
    timings = [(t.get("candidate", ""), t.get("shape", ""), t.get("median_ns", ""), t.get("spread", ""))
               for entry in kernel["plan"] for t in entry.get("timings", [])]  # fmt: skip
    if timings:
        rows = [(c, s, output.show_ms(m) if isinstance(m, (int, float)) else m, p) for c, s, m, p in timings]
        output.print_table("timings", ("candidate", "at", "median", "spread"), rows, right=("median", "spread"))
    if kernel.get("declined"):
        output.print_table("declined", ("candidate", "reason"), [(d["candidate"], d["reason"]) for d in kernel["declined"]])
    if kernel.get("not_fused"):
        output.print_table("not fused", ("edge", "reason"), [(n.get("edge", ""), n.get("reason", "")) for n in kernel["not_fused"]])
    print()
