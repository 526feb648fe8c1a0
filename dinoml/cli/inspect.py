"""`dinoml inspect`: what an artifact holds."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from dinoml import env
from dinoml.cli import output, status
from dinoml.cli.artifact_files import ArtifactFiles
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
    rows = []
    for kernel in files.kernels.get("kernels", []):
        variants = ", ".join(f"{v['candidate']}" + (f" if {v['condition']}" if v.get("condition") else "") for v in kernel.get("variants", []))
        rows.append((kernel["name"], kernel.get("template", ""), variants or kernel.get("candidate", ""), " ".join(kernel.get("ops", []))))
    output.print_table("kernels", ("name", "template", "candidate", "operators"), rows)
    refusals = [(k["name"], n.get("edge", ""), n.get("reason", "")) for k in files.kernels.get("kernels", []) for n in k.get("not_fused", [])]
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
    data = files.read_json("report/passes.json")
    rows = []
    for entry in data["passes"] if isinstance(data, Mapping) else data:
        before, after = str(entry.get("before", entry.get("before_hash", ""))), str(entry.get("after", entry.get("after_hash", "")))
        counts = ", ".join(f"{k} {v}" for k, v in dict(entry.get("counts", {})).items())
        rows.append((entry.get("name", entry.get("pass", "")), "changed" if before != after else "", before[:12], after[:12], counts))
    output.print_table("passes", ("pass", "", "before", "after", "counts"), rows)


def _memory(files: ArtifactFiles) -> None:
    _tree("memory", files.read_json("report/memory.json"))


def _tree(title: str, value: Any) -> None:
    """Print a report of unknown depth: lists of records as tables, the rest as pairs."""
    if isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
        columns = list(dict.fromkeys(k for record in value for k in record))
        rows = [[_cell(c, record.get(c, "")) for c in columns] for record in value]
        output.print_table(title, columns, rows, right=[c for c in columns if isinstance(value[0].get(c), int)])
        return
    if not isinstance(value, Mapping):
        output.print_pairs([(title, value)])
        return
    output.print_pairs([(k, _cell(k, v)) for k, v in value.items() if not isinstance(v, (list, Mapping))])
    for name, inner in value.items():
        if isinstance(inner, (list, Mapping)) and inner:
            _tree(name, inner)


def _cell(name: str, value: Any) -> str:
    return env.show_bytes(value) if isinstance(value, int) and "bytes" in name else str(value)
