"""Profiling a graph: problems, points, what is known already, building, measuring, and the choices that follow."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dinoml.lowering.select import Selector
from dinoml.profile import worker
from dinoml.profile.device import ROOFLINE, CpuDevice, device_for, memory_limit
from dinoml.profile.job import ENOUGH, BufferSpec, CandidateRun, Job, PointJob, PointResult, Progress, Settings
from dinoml.profile.plan import PlanError, load_plan, make_plan
from dinoml.profile.points import points, requests
from dinoml.profile.report import PointRecord, ProblemRecord, Roofline, plan_entry, report_json
from dinoml.profile.timings import TimingCache
from dinoml.profile.workload import Workload, workloads
from dinoml.targets import Target

if TYPE_CHECKING:
    import os

    from dinoml.frontend.modelspec import ModelSpec
    from dinoml.ir.graph import Graph

ROOFLINE_STEPS, ROOFLINE_ITEMS, CHAINS = 20_000, 8, 12


@dataclass(frozen=True)
class Options:
    """What the user may say about a profile run. `executor` runs the jobs; None runs one child process at a time."""

    iterations: int = 20
    repeats: int = 3
    input_shapes: Any = None
    refresh: bool = False
    jobs: int | None = None
    progress: Progress | None = None
    executor: Executor | None = None
    timeout_s: float = 60.0

    @property
    def samples(self) -> int:
        return self.iterations * self.repeats

    def say(self, what: str, done: int, total: int) -> None:
        if self.progress:
            self.progress(what, done, total)


def choose_selector(
    spec: ModelSpec,
    target: Target,
    *,
    execution_plan: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    strict: bool = False,
    profile: bool = False,
    iterations: int = 20,
    repeats: int = 3,
    input_shapes: Any = None,
    refresh: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Selector:
    """Return the selector for a compilation: the listed order, a given plan, or one measured now.

    Raises PlanError for a plan that does not fit the target and, when `strict`, for one with entries that fit nothing in the model.
    """
    if profile and execution_plan is not None:
        raise ValueError("profile=True measures a plan and execution_plan= gives one; pass one of them")
    if execution_plan is not None:
        plan = load_plan(execution_plan, target)
        if strict:
            _check_all_followed(spec, target, plan)
        return Selector(target, plan)
    if not profile:
        return Selector(target)
    from dinoml.passes import run_passes

    graph, _ = run_passes(spec.graph, target)
    report, plan = profile_graph(graph, target, Options(iterations, repeats, input_shapes, refresh, jobs, progress, executor))
    return Selector(target, plan, report)


def _check_all_followed(spec: ModelSpec, target: Target, plan: dict[str, Any]) -> None:
    from dinoml.compiler import lower

    selector = Selector(target, plan)
    lower(spec, target, selector)
    unused = selector.unused()
    if unused:
        entries = plan["problems"]
        lines = [f"\n  {entries[k].get('template', '?')} {k} ({'+'.join(entries[k].get('nodes', ()))}): {why}" for k, why in unused.items()]
        raise PlanError(f"execution plan: {len(unused)} of {len(entries)} entries cannot be followed:{''.join(lines)}")


def profile_artifact(
    path: str | os.PathLike[str],
    *,
    iterations: int = 20,
    repeats: int = 3,
    input_shapes: Any = None,
    refresh: bool = False,
    threads: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (profile report, execution plan) for the model of an artifact, read from its graph.json; the artifact stays as it is."""
    from dinoml.artifact.reader import Artifact
    from dinoml.ir import serialize

    artifact = Artifact(Path(path))
    graph = serialize.from_json(artifact.read_json("graph.json"))
    entry = artifact.manifest.target
    stored = artifact.read_json("plan.json").get("target") or {"name": entry.name, "arch": entry.arch}
    target = Target.of({**stored, **({} if threads is None else {"threads": threads})})
    target.check_available()
    return profile_graph(graph, target, Options(iterations, repeats, input_shapes, refresh, jobs, progress, executor))


def profile_graph(graph: Graph, target: Target, options: Options) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (report, plan) for a graph after its passes."""
    if options.samples < 1:
        raise ValueError("profile: iterations and repeats must be at least 1")
    start = time.perf_counter()
    device = device_for(target, options.jobs)
    asked = requests(graph, options.input_shapes)
    options.say("find problems", 0, 1)
    limit = memory_limit()
    records = []
    for work in workloads(graph, target):
        inside, outside = points(work.dims, asked, lambda p, work=work: work.fits(p, limit))  # type: ignore[misc]
        records.append(ProblemRecord(work, [PointRecord(p) for p in inside], outside))
    cache = TimingCache()
    try:
        roofline = _Run(device, options, cache).fill(records)
    finally:
        cache.close()
    head = {
        "target": target.to_json(), "device": device.identity, "iterations": options.iterations, "repeats": options.repeats,
        "seconds": round(time.perf_counter() - start, 2),
    }  # fmt: skip
    plan = make_plan(target, device.identity, {r.work.key: plan_entry(r) for r in records})
    return report_json(records, roofline, head), plan


class _Run:
    """One profile run: looks up what is known and measures the rest."""

    def __init__(self, device: CpuDevice, options: Options, cache: TimingCache) -> None:
        self.device, self.options, self.cache = device, options, cache
        self.roofline_key = cache.key("roofline", "", {}, device.identity | {"arch": device.target.arch})
        self.object_keys: dict[str, str] = {}

    def key(self, work: Workload, candidate: str, p: PointRecord) -> str:
        source = work.sources[candidate]
        if source.name not in self.object_keys:
            self.object_keys[source.name] = self.device.object_key(source)
        return self.cache.key(work.key, self.object_keys[source.name], p.point, self.device.identity)

    def look_up(self, work: Workload, p: PointRecord) -> bool:
        """Take the timings of a point from the cache if all of them are there."""
        names = [c.name for c in work.candidates_at(p.point)]
        found = {n: self.cache.get(self.key(work, n, p), self.options.samples) for n in names}
        if not all(found.values()):
            return False
        p.timings = {n: replace(t, candidate=n) for n, t in found.items() if t is not None}
        p.cached = True
        return True

    def fill(self, records: Sequence[ProblemRecord]) -> Roofline | None:
        """Fill in the timings of all records and return the roofline."""
        missing: list[tuple[ProblemRecord, list[PointRecord]]] = []
        for r in records:
            rest = [p for p in r.points if self.options.refresh or not self.look_up(r.work, p)]
            if rest:
                missing.append((r, rest))
        if not missing:
            known = self.cache.value(self.roofline_key)
            return Roofline(**known) if known else None
        with tempfile.TemporaryDirectory(prefix="dinoml-profile-") as name:
            return self.measure(missing, Path(name))

    def measure(self, missing: Sequence[tuple[ProblemRecord, list[PointRecord]]], folder: Path) -> Roofline | None:
        """Build all candidates, measure, and remember."""
        bench = self.device.bench_library(folder)
        kernels = [s for r, _ in missing for s in r.work.sources.values()]
        library, failed = self.device.kernel_library(kernels, folder, self.options.say)
        for r, _ in missing:
            r.failed = {n: failed[s.name] for n, s in r.work.sources.items() if s.name in failed}
        settings = Settings(
            workers=self.device.workers, samples=self.options.samples, least_samples=min(self.options.samples, max(ENOUGH, self.options.repeats)),
            rotate_bytes=4 * self.device.identity["cache_bytes"], timeout_s=self.options.timeout_s,
        )  # fmt: skip
        executor = self.options.executor or worker.Serial()
        try:
            roofline = self._roofline(executor, str(bench), str(library), settings)
            futures = {}
            for r, rest in missing:
                job = Job(str(bench), str(library), tuple(_point_job(r, i, p) for i, p in enumerate(rest)), settings)
                futures[executor.submit(worker.measure, job)] = (r, rest)
                if self.options.executor is None:
                    self.options.say("measure", len(futures), len(missing))
            for done, future in enumerate(as_completed(futures), 1):
                self._take(*futures[future], future.result())
                if self.options.executor is not None:
                    self.options.say("measure", done, len(missing))
        finally:
            worker.stop()
        return roofline

    def _take(self, r: ProblemRecord, rest: Sequence[PointRecord], results: Sequence[PointResult]) -> None:
        for result in results:
            p = rest[result.index]
            p.timings = {t.candidate: t for t in result.timings}
            p.refused = dict(result.refused)
            self.cache.put([(self.key(r.work, n, p), t) for n, t in p.timings.items()], self.options.samples)

    def _roofline(self, executor: Executor, bench: str, library: str, settings: Settings) -> Roofline | None:
        """Return the ceilings: arithmetic on all workers, and copying more than the caches hold."""
        lanes = self.device.target.vector_bytes // 4
        items, count = ROOFLINE_ITEMS * settings.workers, settings.rotate_bytes // 16
        single = BufferSpec("float32", (items * lanes,), False, True)
        arithmetic = PointJob((single,), (0,), (CandidateRun("fma", ROOFLINE[0], (items, ROOFLINE_STEPS)),), "fma", index=0)
        pair = (BufferSpec("float32", (count,), True, False), BufferSpec("float32", (count,), False, True))
        copying = PointJob(pair, (0, 1), (CandidateRun("copy", ROOFLINE[1], (count,)),), "copy", index=1)
        quick = replace(settings, samples=15, least_samples=5)
        timings = [t for r in executor.submit(worker.measure, Job(bench, library, (arithmetic, copying), quick)).result() for t in r.timings]
        if len(timings) != 2:
            return None
        operations, moved = items * ROOFLINE_STEPS * CHAINS * lanes * 2, 8 * (count // (4 * lanes) * 4 * lanes)
        found = {"gflop_s": operations / timings[0].best_ns, "copy_gb_s": moved / timings[1].best_ns}
        self.cache.store([(self.roofline_key, found)])
        return Roofline(**found)


def _point_job(r: ProblemRecord, index: int, p: PointRecord) -> PointJob:
    job = r.work.job(index, p.point, without=r.failed)
    return replace(job, expected=r.work.expected(job, p.point))
