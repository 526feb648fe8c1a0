"""`dinoml inspect`: what an artifact holds."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from dinoml import env
from dinoml.cli import output, status
from dinoml.cli.artifact_files import ArtifactFiles
from dinoml.cli.explain import variants
from dinoml.ir import shapes

SECTIONS = ("kernels", "graph", "passes", "memory")


def run(arguments: argparse.Namespace) -> int:
    """Show the summary, or the sections that were asked for."""
    files = ArtifactFiles(arguments.artifact)
    wanted = [s for s in SECTIONS if getattr(arguments, s)]
    if arguments.json:
        sections = {name: _data(files, name) for name in wanted}
        output.print_json(sections if wanted else {"manifest": files.read_json("manifest.json"), "kernels": files.kernels, "bytes": _sizes(files)})
        return status.OK
    if not wanted:
        _summary(files)
    show = {"kernels": _kernels, "graph": _graph, "passes": _passes, "memory": _memory}
    for name in wanted:
        show[name](files)
    return status.OK


def _data(files: ArtifactFiles, section: str) -> Any:
    match section:
        case "kernels":
            return files.kernels
        case "graph":
            return files.read_json("graph.json")
        case _:
            return files.read_json(f"report/{section}.json")


def _sizes(files: ArtifactFiles) -> dict[str, int]:
    return {f.name: f.stat().st_size for f in sorted(files.path.iterdir()) if f.is_file()}


def _summary(files: ArtifactFiles) -> None:
    manifest = files.manifest
    output.print_pairs([
        ("artifact", files.path),
        ("model", manifest.name),
        ("target", f"{manifest.target.name} ({manifest.target.arch})"),
        ("kernels", f"{len(files.kernels['kernels'])} in {len(files.kernels['objects'])} objects"),
        ("constants", f"{len(manifest.sources)} named, {len(manifest.stored)} stored, loaded {manifest.constant_policy}"),
        ("digest", manifest.digest),
        *((name, env.show_bytes(size)) for name, size in _sizes(files).items() if name.endswith((".so", ".safetensors"))),
    ])  # fmt: skip
    graph = files.graph
    if graph.dims:
        dims = [(d.name, d.min, d.max, d.typical, " ".join(map(str, d.buckets)), d.divisible_by) for d in graph.dims.values()]
        output.print_table("dims", ("name", "min", "max", "typical", "buckets", "divisible by"), dims)
    for function in graph.functions:
        rows = [("input", name, function.types[name].dtype, shapes.show(function.types[name].shape)) for name in function.inputs]
        rows += [("output", o.name, function.types[o.value].dtype, shapes.show(function.types[o.value].shape)) for o in function.outputs]
        output.print_table(f"function {function.name}", ("", "name", "dtype", "shape"), rows)


def _kernels(files: ArtifactFiles) -> None:
    kernels = files.kernels["kernels"]
    rows = [(k["function"], k["step"], k["name"], k["template"], variants(k), " ".join(k["ops"]), k["source"]) for k in kernels]
    output.print_table("kernels", ("function", "step", "name", "template", "candidates", "operators", "source"), rows, right=("step",))
    refusals = [(k["name"], n["edge"], n["reason"]) for k in kernels for n in k["not_fused"]]
    if refusals:
        output.print_table("not fused", ("kernel", "edge", "reason"), refusals)


def _graph(files: ArtifactFiles) -> None:
    for function in files.graph.functions:
        rows = []
        for node in function.nodes:
            results = ", ".join(f"{o}: {function.types[o]}" for o in node.outputs)
            attrs = ", ".join(f"{k}={v}" for k, v in node.attrs)
            rows.append((node.id, node.op, " ".join(i or "-" for i in node.inputs), attrs, results, node.source))
        output.print_table(f"function {function.name}", ("node", "op", "inputs", "attributes", "results", "source"), rows)


def _passes(files: ArtifactFiles) -> None:
    rows = []
    for p in files.read_json("report/passes.json")["passes"]:
        nodes = f"{p['nodes_before']} → {p['nodes_after']}" if p["nodes_before"] != p["nodes_after"] else str(p["nodes_after"])
        rows.append((p["name"], "changed" if p["changed"] else "", p["before"][:12], p["after"][:12], nodes, f"{p['seconds'] * 1e3:.1f}"))
    output.print_table("passes", ("pass", "", "before", "after", "nodes", "ms"), rows, right=("nodes", "ms"))


def _memory(files: ArtifactFiles) -> None:
    data = files.read_json("report/memory.json")
    for function in data["functions"]:
        plans = [(_upper(p["upper"]), env.show_bytes(p["bytes"]), env.show_bytes(p["least_possible"])) for p in function["plans"]]
        output.print_table(f"function {function['name']}: arena", ("for dims up to", "bytes", "least possible"), plans)
        buffers = [(b["value"], b["dtype"], b["bytes"], f"{b['first']}..{b['last']}") for b in function["buffers"]]
        if buffers:
            output.print_table(f"function {function['name']}: buffers", ("value", "dtype", "bytes", "steps"), buffers)
    constants = sorted(data["constants"], key=lambda c: -c["bytes"])
    rows = [(c["name"], c["type"], env.show_bytes(c["bytes"])) for c in constants]
    output.print_table(f"constants: {env.show_bytes(data['constant_bytes'])}", ("name", "type", "bytes"), rows, right=("bytes",))


def _upper(upper: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in upper.items()) or "all"
