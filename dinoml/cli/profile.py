"""`dinoml profile`: time the candidates of an artifact's kernels and write an execution plan."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from dinoml.cli import model_file, output, status
from dinoml.cli.artifact_files import ArtifactFiles


def run(arguments: argparse.Namespace) -> int:
    """Profile, write report and plan, and show what was chosen."""
    from dinoml.profile import profile_artifact

    files = ArtifactFiles(arguments.artifact)
    shapes = model_file.parse_extents(arguments.shape, "--shape")
    with output.progress_bar(arguments.json) as progress:
        report, plan = profile_artifact(
            files.path, iterations=arguments.iterations, repeats=arguments.repeats, input_shapes=shapes or None,
            refresh=arguments.refresh, threads=arguments.threads, jobs=arguments.jobs, progress=progress,
        )  # fmt: skip
    # Beside the artifact, not in it: the artifact stays what its digest says.
    report_path = arguments.out or files.path.with_suffix(".profile.json")
    plan_path = arguments.execution_plan_out or files.path.with_suffix(".plan.json")
    _write(report_path, report)
    _write(plan_path, plan)
    if arguments.json:
        output.print_json({"report": report, "plan": plan, "report_path": str(report_path), "plan_path": str(plan_path)})
        return status.OK
    rows = [(p["template"], " x ".join(p["dims"]), len(p["uses"]), _best(p), p["why"]) for p in report["problems"]]
    output.print_table("problems", ("template", "over", "uses", "fastest", "why"), rows, right=("uses",))
    output.print_pairs([
        ("report", report_path),
        ("plan", f"{plan_path}; use it with dinoml compile MODEL --execution-plan {plan_path}"),
    ])  # fmt: skip
    return status.OK


def _best(problem: dict[str, Any]) -> str:
    """The fastest candidate at each point."""
    found = []
    for point in problem["points"]:
        if point["timings"]:
            first = point["timings"][0]
            where = ",".join(f"{k}={v}" for k, v in point["point"].items())
            found.append(f"{first['candidate']} {output.show_time(first['median_ns'])}" + (f" at {where}" if where else ""))
    return "; ".join(found)


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
