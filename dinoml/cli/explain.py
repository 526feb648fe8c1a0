"""`dinoml explain`: why each kernel is what it is."""

from __future__ import annotations

import argparse
from typing import Any

from dinoml.cli import output, status
from dinoml.cli.artifact_files import ArtifactFiles


def run(arguments: argparse.Namespace) -> int:
    """Explain one kernel, or all of them."""
    files = ArtifactFiles(arguments.artifact)
    kernels = [{**k, "problem": _problem(files, k), "measured": bool(files.plan.get("measured"))} for k in files.find_kernels(arguments.kernel)]
    if arguments.json:
        output.print_json(kernels)
        return status.OK
    for kernel in kernels:
        _show(kernel)
    return status.OK


def _problem(files: ArtifactFiles, kernel: dict[str, Any]) -> dict[str, Any]:
    """The plan's record of the problem that this kernel solves: the same kernel anywhere in the model solves the same problem."""
    same = [k["fused"] for k in files.kernels["kernels"] if k["name"] == kernel["name"]]
    found = (p for p in files.plan.get("problems", {}).values() if p["template"] == kernel["template"] and p["nodes"] in same)
    return dict(next(found, {}))


def _show(kernel: dict[str, Any]) -> None:
    decided = "measured" if kernel["measured"] else "first of the ordered list that applies"
    output.print_pairs([
        ("kernel", kernel["name"]),
        ("template", f"{kernel['template']} over {' x '.join(kernel['dims'])}"),
        ("covers", f"{' '.join(kernel['fused'])} ({' '.join(kernel['ops'])})"),
        ("source", kernel["source"]),
        ("chosen", "; ".join(v["candidate"] + (f" if {v['condition']}" if v["condition"] else "") for v in kernel["variants"])),
        ("because", decided),
    ])  # fmt: skip
    timings = [(t.get("candidate", ""), t.get("shape", ""), t.get("median_ns", ""), t.get("spread", ""))
               for t in kernel["problem"].get("timings", [])]  # fmt: skip
    if timings:
        rows = [(c, s, output.show_time(m) if isinstance(m, (int, float)) else m, p) for c, s, m, p in timings]
        output.print_table("timings", ("candidate", "at", "median", "spread"), rows, right=("median", "spread"))
    if kernel["declined"]:
        output.print_table("declined", ("candidate", "reason"), [(d["candidate"], d["reason"]) for d in kernel["declined"]])
    if kernel["not_fused"]:
        output.print_table("not fused", ("edge", "reason"), [(n["edge"], n["reason"]) for n in kernel["not_fused"]])
    print()
