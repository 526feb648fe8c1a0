"""Why each kernel of an artifact is what it is, from its JSON files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def explain(artifact_path: str | os.PathLike[str], kernel: str | None = None) -> list[dict[str, Any]]:
    """Return one row per kernel (those whose name begins with `kernel`, or that cover a node of that id).

    A row has the kernel's facts of kernels.json and: `key` of its problem, `because` in words, `timings` per candidate and shape
    (median_ns, spread, and times the best), `refused` candidates (crashed, wrong, not compiled), `declined` ones. Raises OSError
    or ValueError when the folder is no artifact.
    """
    folder = Path(artifact_path)
    kernels = _read(folder / "kernels.json")["kernels"]
    plan = _read(folder / "plan.json")
    report_path = folder / "report" / "profile.json"
    report = {p["key"]: p for p in _read(report_path)["problems"]} if report_path.is_file() else {}
    rows = []
    for k in kernels:
        if kernel is None or k["name"].startswith(kernel) or kernel in k["fused"]:
            key, problem = _problem(plan, k)
            rows.append(_row(k, key, problem, report.get(key, {})))
    return rows


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _problem(plan: dict[str, Any], k: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the problem that a kernel solves."""
    names = [v["kernel"] for v in k["variants"]]
    for key, p in plan["problems"].items():
        if [v["kernel"] for v in p["variants"]] == names and k["fused"] in p.get("uses", [p["nodes"]]):
            return key, p
    return "", {}


def _row(k: dict[str, Any], key: str, problem: dict[str, Any], measured: dict[str, Any]) -> dict[str, Any]:
    timings = problem.get("timings", [])
    best: dict[str, float] = {}
    for t in timings:
        best[t["shape"]] = min(t["median_ns"], best.get(t["shape"], t["median_ns"]))
    return {
        **k,
        "key": key,
        "because": problem.get("why", "first of the listed order that applies"),
        "measured": "ranges" in problem,
        "ranges": problem.get("ranges", []),
        "timings": [{**t, "times_best": round(t["median_ns"] / max(best[t["shape"]], 1e-9), 3)} for t in timings],
        "points": measured.get("points", []),
        "refused": measured.get("refused", []),
        "skipped": measured.get("skipped", []),
    }
