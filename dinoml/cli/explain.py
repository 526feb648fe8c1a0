"""`dinoml explain`: why each kernel is what it is."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from dinoml.cli import output, status
from dinoml.cli.artifact_files import ArtifactFiles


def run(arguments: argparse.Namespace) -> int:
    """Explain the kernels whose name or node was given, or all of them."""
    from dinoml.profile import explain

    files = ArtifactFiles(arguments.artifact)
    kernels = explain(files.path, arguments.kernel)
    if not kernels and arguments.kernel:
        names = [k["name"] for k in files.kernels["kernels"]]
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        raise status.CliError(f"{files.path}: no kernel or node {arguments.kernel!r}; there are {shown}")
    if arguments.json:
        output.print_json(kernels)
        return status.OK
    for kernel in kernels:
        _show(kernel)
    return status.OK


def variants(kernel: Mapping[str, Any]) -> str:
    """Return the chosen candidates with the conditions under which each is used."""
    return "; ".join(v["candidate"] + (f" if {v['condition']}" if v["condition"] else "") for v in kernel["variants"])


def _show(kernel: Mapping[str, Any]) -> None:
    output.print_pairs([
        ("kernel", kernel["name"]),
        ("template", f"{kernel['template']} over {' x '.join(kernel['dims'])}"),
        ("covers", f"{' '.join(kernel['fused'])} ({' '.join(kernel['ops'])})"),
        ("source", kernel["source"]),
        ("chosen", variants(kernel)),
        ("because", kernel["because"]),
    ])  # fmt: skip
    if kernel["timings"]:
        rows = [(t["candidate"], t["shape"], output.show_time(t["median_ns"]), output.show_time(t["spread"]), f"{t['times_best']:.2f}")
                for t in kernel["timings"]]  # fmt: skip
        columns = ("candidate", "at", "median", "spread", "times the best")
        output.print_table("timings", columns, rows, right=("median", "spread", "times the best"))
    for title in ("refused", "declined"):
        if kernel[title]:
            output.print_table(title, ("candidate", "reason"), [(d["candidate"], d["reason"]) for d in kernel[title]])
    if kernel["not_fused"]:
        output.print_table("not fused", ("edge", "reason"), [(n["edge"], n["reason"]) for n in kernel["not_fused"]])
    print()
