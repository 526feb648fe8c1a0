"""Profiling for real: a small model on one thread, and candidates that crash, hang, or are wrong."""

from __future__ import annotations

import concurrent.futures
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from profile_models import linear_spec

from dinoml.compiler import compile, lower
from dinoml.ir.shapes import Dim
from dinoml.lowering import templates
from dinoml.lowering.select import Selector
from dinoml.lowering.templates import Candidate, Problem
from dinoml.passes import run_passes
from dinoml.profile import driver, explain, profile_artifact
from dinoml.profile.driver import Options, profile_graph
from dinoml.targets import Target

QUICK = {"iterations": 3, "repeats": 2}


def problem(report: dict[str, Any], template: str = "gemm") -> dict[str, Any]:
    return next(p for p in report["problems"] if p["template"] == template)


# -- the whole way -----------------------------------------------------------------------------------------------------------


def test_profile_an_artifact_and_compile_with_its_plan(tmp_path: Path, target: Target) -> None:
    spec = linear_spec(Dim("batch", 1, 64, buckets=(1, 8, 64)))
    artifact = compile(spec, target, tmp_path / "plain.dinoml").path
    before = {p.name: p.stat().st_mtime_ns for p in artifact.iterdir()}
    seen: list[str] = []
    report, plan = profile_artifact(artifact, **QUICK, progress=lambda what, done, total: seen.append(what))
    assert {p.name: p.stat().st_mtime_ns for p in artifact.iterdir()} == before
    assert {"find problems", "compile candidates", "measure"} <= set(seen)
    gemm = problem(report)
    assert [p["point"] for p in gemm["points"]] == [{"batch": 1}, {"batch": 8}, {"batch": 64}]
    assert all(t["median_ns"] > 0 and t["samples"] >= 3 for p in gemm["points"] for t in p["timings"])
    assert "tile" in {t["candidate"] for p in gemm["points"] for t in p["timings"]}
    assert not gemm["refused"]
    assert report["roofline"]["gflop_s"] > 1
    assert report["roofline"]["copy_gb_s"] > 0.1
    chosen = compile(spec, target, tmp_path / "chosen.dinoml", execution_plan=plan, strict_plan=True).path
    rows = explain(chosen)
    (row,) = [r for r in rows if r["template"] == "gemm"]
    assert row["measured"]
    assert {t["shape"] for t in row["timings"]} == {"batch=1", "batch=8", "batch=64"}
    assert min(t["times_best"] for t in row["timings"]) == 1.0
    assert explain(chosen, row["name"]) == [row]
    assert {r["because"] for r in explain(artifact)} == {"first of the listed order that applies"}


def test_second_run_takes_the_timings_from_the_cache(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = run_passes(linear_spec(16).graph, target)
    first, plan = profile_graph(graph, target, Options(**QUICK))
    monkeypatch.setattr(driver._Run, "measure", lambda *a: pytest.fail("measured again"))
    second, again = profile_graph(graph, target, Options(**QUICK))
    assert plan == again
    assert second["roofline"] == first["roofline"]
    assert problem(second)["points"][0]["cached"]
    with pytest.raises(pytest.fail.Exception):
        profile_graph(graph, target, Options(**QUICK, refresh=True))
    with pytest.raises(pytest.fail.Exception):
        profile_graph(graph, target, Options(iterations=50, repeats=2))  # fewer samples do not stand for more
    with pytest.raises(pytest.fail.Exception):
        profile_graph(graph, Target("cpu", threads=2), Options(**QUICK))


def test_compile_profiles_and_reports(tmp_path: Path, target: Target) -> None:
    shapes = {"x": [3, 48]}
    spec = linear_spec(Dim("batch", 1, 64))
    artifact = compile(spec, target, tmp_path / "p.dinoml", profile=True, profile_iterations=3, profile_repeats=1, profile_input_shapes=shapes).path
    (row,) = [r for r in explain(artifact) if r["template"] == "gemm"]
    assert [p["point"] for p in row["points"]] == [{"batch": 3}]


def test_any_executor_does(target: Target) -> None:
    graph, _ = run_passes(linear_spec(24).graph, target)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        report, _ = profile_graph(graph, target, Options(**QUICK, refresh=True, executor=pool))
    assert problem(report)["points"][0]["timings"]


# -- bad candidates ------------------------------------------------------------------------------------------------------------

BAD = {
    "crash": "SIGSEGV",
    "hang": "did not return within",
    "wrong_last_k": "wrong result",
    "writes_outside": "wrote outside",
    "fails": "status 3",
    "nonsense": "does not compile",
}


def inject(monkeypatch: pytest.MonkeyPatch, names: list[str]) -> None:
    """Put bad GEMMs in front of the list."""
    header = str(Path(__file__).with_name("bad_gemm.h"))
    module = templates.template("gemm")
    original = module.candidates

    def candidates(p: Problem) -> list[Candidate]:
        listed = original(p)
        plain = listed[-1]
        bad = [replace(plain, name=n, header=header, function="dml::bad::gemm", params=(*plain.params, ("how", f"How::{n}"))) for n in names]
        return [*bad, *listed]

    monkeypatch.setattr(module, "candidates", candidates)


def test_bad_candidates_are_reported_and_never_chosen(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    inject(monkeypatch, [*BAD, "right"])
    graph, _ = run_passes(linear_spec(Dim("batch", 1, 32, buckets=(2, 32))).graph, target)
    report, plan = profile_graph(graph, target, Options(**QUICK, refresh=True, timeout_s=2))
    gemm = problem(report)
    reasons = {r["candidate"]: r["reason"] for r in gemm["refused"]}
    assert reasons.keys() == BAD.keys(), reasons
    for name, text in BAD.items():
        assert text in reasons[name], name
    entry = next(p for p in plan["problems"].values() if p["template"] == "gemm")
    assert not BAD.keys() & {r["candidate"] for r in entry["ranges"]}
    assert set(entry["exclude"]) == BAD.keys()
    spec = linear_spec(Dim("batch", 1, 32, buckets=(2, 32)))
    used = [v.source.candidate.name for p in lower(spec, target, Selector(target, plan)).plans for s in p.steps for v in s.variants]
    assert not BAD.keys() & set(used)
    for p in gemm["points"]:
        assert {"right", "tile"} <= {t["candidate"] for t in p["timings"]}


def test_with_only_a_broken_plain_candidate_the_listed_order_stands(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    module = templates.template("gemm")
    header = str(Path(__file__).with_name("bad_gemm.h"))
    original = module.candidates

    def candidates(p: Problem) -> list[Candidate]:
        tile = original(p)[-1]
        return [replace(tile, name="crash", header=header, function="dml::bad::gemm", params=(*tile.params, ("how", "How::crash")))]

    monkeypatch.setattr(module, "candidates", candidates)
    graph, _ = run_passes(linear_spec(2).graph, target)
    report, plan = profile_graph(graph, target, Options(**QUICK, refresh=True))
    gemm = problem(report)
    assert gemm["ranges"] == []
    assert "listed order stands" in gemm["why"]
    assert [r["candidate"] for r in gemm["refused"]] == ["crash"]
    assert np.isfinite(report["seconds"])
    assert plan["problems"]
