"""Execution plans: applied, refused, ignored, strict, pure; and the key by which problems are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from profile_models import linear_spec

import dinoml
from dinoml.compiler import compile, lower, module_digest
from dinoml.ir.shapes import Dim
from dinoml.lowering.select import Selector, in_words
from dinoml.lowering.templates import Candidate
from dinoml.passes import run_passes
from dinoml.profile import choose_selector
from dinoml.profile.plan import PlanError, apply_choice, load_plan, make_plan
from dinoml.profile.workload import workloads
from dinoml.targets import Target

M = Dim("m", 1, 4096)


def plan_of(spec: dinoml.ModelSpec, target: Target, **ranges: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a plan with ranges per template."""
    graph, _ = run_passes(spec.graph, target)
    return make_plan(target, {"kind": "cpu"}, {
        w.key: {"template": w.kernel.template, "nodes": list(w.kernel.nodes), "ranges": ranges[w.kernel.template]}
        for w in workloads(graph, target) if w.kernel.template in ranges
    })  # fmt: skip


def variants(spec: dinoml.ModelSpec, target: Target, selector: Selector, template: str = "gemm") -> list[tuple[str, tuple[str, ...]]]:
    """Return (candidate, conditions) of the first kernel of a template."""
    steps = [s for p in lower(spec, target, selector).plans for s in p.steps if s.kernel.template == template]
    return [(v.source.candidate.name, tuple(str(c) for c in v.conditions)) for v in steps[0].variants]


# -- applying ------------------------------------------------------------------------------------------------------------


def test_ranges_become_conditions_and_the_listed_order_follows() -> None:
    listed = [Candidate("a"), Candidate("b", conditions=(16 - M,)), Candidate("c")]
    chosen = apply_choice({"ranges": [{"candidate": "c", "over": [0], "upto": 8}, {"candidate": "b", "over": [0, 1], "from": 2}]}, listed, (M, 3))
    assert [c.name for c in chosen] == ["c", "b", "a", "b", "c"]
    assert chosen[0].conditions == (8 - M,)
    assert chosen[1].conditions == (16 - M, 3 * M - 2)


def test_failed_candidates_are_left_out_but_for_the_plain_one() -> None:
    listed = [Candidate("a"), Candidate("b"), Candidate("c")]
    assert [c.name for c in apply_choice({"ranges": [], "exclude": ["a", "c"]}, listed, ())] == ["b", "c"]


@pytest.mark.parametrize("ranges", [[{"candidate": "gone"}], [{"candidate": "a", "over": [7], "upto": 1}]])
def test_an_entry_about_something_else_is_an_error(ranges: list[dict[str, Any]]) -> None:
    with pytest.raises(PlanError):
        apply_choice({"ranges": ranges}, [Candidate("a")], (M,))


def test_plan_changes_the_variants(target: Target) -> None:
    spec = linear_spec(Dim("batch", 1, 64))
    ranges = [{"candidate": "tile", "over": [2], "upto": 4}, {"candidate": "skinny", "over": [2], "upto": 12}, {"candidate": "tile"}]
    plan = plan_of(spec, target, gemm=ranges)
    names = [n for n, _ in variants(spec, target, Selector(target, plan))]
    assert names == ["tile", "skinny", "tile"]


def test_what_can_never_be_reached_is_left_out(target: Target) -> None:
    spec = linear_spec(8)
    plan = plan_of(spec, target, gemm=[{"candidate": "tile"}, {"candidate": "skinny"}])
    assert variants(spec, target, Selector(target, plan)) == [("tile", ())]
    wide = linear_spec(Dim("batch", 1, 64))
    again = plan_of(wide, target, gemm=[{"candidate": "skinny"}])
    names = [n for n, _ in variants(wide, target, Selector(target, again))]
    assert names.count("skinny") == 1
    assert names[-1] == "tile"


def test_inapplicable_candidates_are_declined_in_words(target: Target) -> None:
    spec = linear_spec(128)
    step = next(s for p in lower(spec, target).plans for s in p.steps if s.kernel.template == "gemm")
    reasons = {c.name: c.declined for c in step.declined}
    assert "128" in reasons["skinny"]
    assert "<= 32" in reasons["skinny"]


def test_conditions_in_words() -> None:
    m = Dim("m", 1, 9)
    assert in_words(16 - m) == "m <= 16"
    assert in_words(m - 3) == "m >= 3"


# -- refusing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"schema": 9}, "schema 9"),
        ({"target": {"name": "cpu", "arch": "x86-64-v2"}}, "was made for"),
        ({"target": {"name": "abacus"}}, "abacus"),
        ({"problems": None}, "not an execution plan"),
        ({"problems": {"k": 3}}, "problem k"),
        ({"problems": {"k": {"ranges": [{}]}}}, "names no candidate"),
        ({"problems": {"k": {"ranges": [], "exclude": "a"}}}, "list of candidates"),
        ({"problems": {"k": {"ranges": [{"candidate": "a", "upto": "4", "over": [0]}]}}}, "whole numbers"),
        ({"problems": {"k": {"ranges": [{"candidate": "a", "upto": 4}]}}}, "does not say over which"),
    ],
)
def test_unusable_plans_are_refused(change: dict[str, Any], text: str) -> None:
    target = Target("cpu", "avx2")
    with pytest.raises(PlanError, match=text):
        load_plan({**make_plan(target, {}, {}), **change}, target)


def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, target: Target) -> None:
    with pytest.raises(PlanError, match="cannot be read"):
        load_plan(tmp_path / "none.json", target)
    (tmp_path / "torn.json").write_text('{"schema"')
    with pytest.raises(PlanError, match="no JSON"):
        load_plan(tmp_path / "torn.json", target)


def test_profile_and_plan_exclude_each_other(target: Target) -> None:
    with pytest.raises(ValueError, match="one of them"):
        choose_selector(linear_spec(), target, execution_plan={}, profile=True)


# -- entries that fit nothing ----------------------------------------------------------------------------------------------


def stale_plan(spec: dinoml.ModelSpec, target: Target) -> dict[str, Any]:
    plan = plan_of(spec, target, gemm=[{"candidate": "gone"}])
    plan["problems"]["0" * 24] = {"template": "softmax", "nodes": ["old_softmax"], "ranges": [{"candidate": "w8"}]}
    return plan


def test_entries_that_fit_nothing_are_ignored_and_reported(target: Target) -> None:
    spec = linear_spec()
    selector = choose_selector(spec, target, execution_plan=stale_plan(spec, target))
    assert variants(spec, target, selector) == variants(spec, target, Selector(target))
    assert len(selector.plan_json()["ignored"]) == 2
    assert not any("ranges" in p for p in selector.plan_json()["problems"].values())


def test_strict_names_them(target: Target) -> None:
    spec = linear_spec()
    with pytest.raises(PlanError, match="2 of 2") as error:
        choose_selector(spec, target, execution_plan=stale_plan(spec, target), strict=True)
    for part in ("gemm", "softmax", "old_softmax", "'gone' is not one of", "no kernel of this model"):
        assert part in str(error.value)


# -- purity and keys ---------------------------------------------------------------------------------------------------------


def test_compiling_with_a_plan_is_pure(tmp_path: Path, target: Target) -> None:
    spec = linear_spec(Dim("batch", 1, 64))
    plan = plan_of(spec, target, gemm=[{"candidate": "tile", "over": [2], "upto": 4}, {"candidate": "skinny", "over": [2], "upto": 9}])
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    first = compile(spec, target, tmp_path / "a.dinoml", execution_plan=plan).path
    second = compile(linear_spec(Dim("batch", 1, 64)), target, tmp_path / "b.dinoml", execution_plan=tmp_path / "plan.json").path
    for name in ("module.so", "plan.json", "kernels.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    third = compile(spec, target, tmp_path / "c.dinoml", execution_plan=first / "plan.json", strict_plan=True).path
    assert (first / "module.so").read_bytes() == (third / "module.so").read_bytes()


def test_digest_follows_the_choice(target: Target) -> None:
    spec = linear_spec(8)
    plan = plan_of(spec, target, gemm=[{"candidate": "tile"}])
    assert module_digest(lower(spec, target, Selector(target))) != module_digest(lower(spec, target, Selector(target, plan)))


def keys(spec: dinoml.ModelSpec, target: Target) -> list[str]:
    graph, _ = run_passes(spec.graph, target)
    return [w.key for w in workloads(graph, target)]


def test_equal_layers_pose_one_problem(target: Target) -> None:
    graph, _ = run_passes(linear_spec(Dim("batch", 1, 8), layers=6).graph, target)
    (work,) = [w for w in workloads(graph, target) if w.kernel.template == "gemm"]
    assert len(work.uses) == 6


def test_keys_do_not_depend_on_names(target: Target) -> None:
    class Renamed(dinoml.Module):
        def __init__(self) -> None:
            import numpy as np

            self.kernel = dinoml.Parameter(np.ones((48, 48), np.float32), name="another")

        def forward(self, given: dinoml.Tensor) -> dinoml.Tensor:
            return dinoml.ops.relu(dinoml.ops.gemm_rcr(given, self.kernel))

    other = dinoml.trace(Renamed(), {"given": dinoml.TensorSpec([Dim("rows", 1, 8), 48])}, name="other")
    assert keys(other, target) == keys(linear_spec(Dim("batch", 1, 8)), target)


def test_keys_depend_on_what_matters(target: Target) -> None:
    seen = [
        *keys(linear_spec(Dim("batch", 1, 8)), target), *keys(linear_spec(Dim("batch", 1, 16)), target), *keys(linear_spec(8), target),
        *keys(linear_spec(8, width=64), target), *keys(linear_spec(8), Target("cpu", "avx2")),
    ]  # fmt: skip
    assert len(set(seen)) == len(seen)
