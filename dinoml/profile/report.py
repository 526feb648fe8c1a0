"""What a profile run says: every timing, why each choice was made, and how far from the machine's ceilings it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dinoml.ir import intexpr
from dinoml.profile.job import Timing
from dinoml.profile.points import Point
from dinoml.profile.ranges import Measured, Range, acceptable, ranges
from dinoml.profile.workload import Workload


@dataclass
class PointRecord:
    """What is known about one problem at one point."""

    point: Point
    timings: dict[str, Timing] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    cached: bool = False


@dataclass
class ProblemRecord:
    """What is known about one problem: the points measured and those left out because they are too large."""

    work: Workload
    points: list[PointRecord] = field(default_factory=list)
    skipped: list[Point] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # candidates that do not compile

    @property
    def refused(self) -> dict[str, str]:
        """Candidates that failed anywhere, with the first reason."""
        out = dict(self.failed)
        for p in self.points:
            for name, why in p.refused.items():
                out.setdefault(name, why + (f" (at {show(p.point)})" if p.point else ""))
        return out


@dataclass(frozen=True)
class Roofline:
    """Ceilings of the machine with the threads that were used."""

    gflop_s: float
    copy_gb_s: float


def show(point: Mapping[str, int]) -> str:
    """Return a point in words: `batch=8, seq=128`."""
    return ", ".join(f"{n}={v}" for n, v in point.items()) or "fixed extents"


def choose(record: ProblemRecord) -> list[Range]:
    """Return the ranges for a problem; a candidate that failed anywhere takes no part."""
    work = record.work
    out = record.refused
    symbolic = [i for i, d in enumerate(work.kernel.dims) if not isinstance(d, int)]
    measured = [Measured(work.sizes(p.point), {n: t for n, t in p.timings.items() if n not in out}) for p in record.points]
    listed = list(dict.fromkeys(c.name for c in work.usable if c.name not in out))
    return ranges(measured, listed, symbolic, {i: intexpr.bounds(work.kernel.dims[i]) for i in symbolic})


def plan_entry(record: ProblemRecord) -> dict[str, Any]:
    """Return a problem's entry of the execution plan."""
    work = record.work
    chosen = choose(record)
    return {
        "template": work.kernel.template,
        "nodes": list(work.kernel.nodes),
        "dims": [str(d) for d in work.kernel.dims],
        "ranges": [r.to_json() for r in chosen],
        **({"exclude": list(record.refused)} if record.refused else {}),
        "why": why(record, chosen),
        "timings": [
            {"candidate": n, "shape": show(p.point), "median_ns": t.median_ns, "spread": t.spread_ns}
            for p in record.points
            for n, t in p.timings.items()
        ],
    }


def why(record: ProblemRecord, chosen: Sequence[Range]) -> str:
    """Return in words what the choice rests on."""
    listed = list(dict.fromkeys(c.name for c in record.work.usable if c.name not in record.refused))
    measured = [p for p in record.points if any(n in p.timings for n in listed)]
    if not measured:
        return "nothing could be measured: the listed order stands"
    if len(listed) == 1:
        return "the only candidate"
    if not chosen:
        return "nothing beats the listed order by more than the noise"
    gains = []
    for p in measured:
        first = next(n for n in listed if n in p.timings)
        best = min((t for n, t in p.timings.items() if n in listed), key=lambda t: t.median_ns)
        if first not in acceptable({n: t for n, t in p.timings.items() if n in listed}):
            gains.append(f"{best.candidate} {p.timings[first].median_ns / best.median_ns:.2f} times as fast as {first} at {show(p.point)}")
    return "; ".join(gains)


def point_json(record: ProblemRecord, p: PointRecord, roofline: Roofline | None) -> dict[str, Any]:
    """Return one point of the report."""
    work = record.work
    flops, traffic = work.flops(p.point), work.traffic(p.point)
    rows = []
    for t in sorted(p.timings.values(), key=lambda t: t.median_ns):
        seconds = max(t.median_ns, 1e-3) * 1e-9
        row: dict[str, Any] = {
            "candidate": t.candidate, "median_ns": t.median_ns, "best_ns": t.best_ns, "spread_ns": t.spread_ns, "error_ns": t.error_ns,
            "samples": t.samples, "runs": t.runs, "gb_s": round(traffic / seconds / 1e9, 2), "gflop_s": round(flops / seconds / 1e9, 2),
        }  # fmt: skip
        if roofline:
            least = max(flops / (roofline.gflop_s * 1e9), traffic / (roofline.copy_gb_s * 1e9))
            row["fraction_of_roofline"] = round(least / seconds, 3)
        rows.append(row)
    return {
        "point": p.point, "dims": list(work.sizes(p.point)), "flops": flops, "bytes": traffic, "cached": p.cached, "timings": rows,
        "equally_fast": list(acceptable(p.timings)) if p.timings else [],
    }  # fmt: skip


def problem_json(record: ProblemRecord, roofline: Roofline | None) -> dict[str, Any]:
    """Return one problem of the report."""
    work = record.work
    chosen = choose(record)
    return {
        "key": work.key,
        "template": work.kernel.template,
        "uses": [list(u) for u in work.uses],
        "dims": [str(d) for d in work.kernel.dims],
        "ranges": [r.to_json() for r in chosen],
        "why": why(record, chosen),
        "points": [point_json(record, p, roofline) for p in record.points],
        "skipped": [
            {"point": p, "reason": f"takes {work.nbytes(p) >> 20} MiB and {work.flops(p) / 1e9:.0f} GFLOP, more than a measurement may"}
            for p in record.skipped
        ],
        "refused": [{"candidate": n, "reason": r} for n, r in record.refused.items()],
        "declined": [{"candidate": c.name, "reason": c.declined} for c in work.declined],
    }


def report_json(records: Sequence[ProblemRecord], roofline: Roofline | None, head: Mapping[str, Any]) -> dict[str, Any]:
    """Return the profile report."""
    ceilings = None if roofline is None else {"gflop_s": round(roofline.gflop_s, 1), "copy_gb_s": round(roofline.copy_gb_s, 1)}
    return {"schema": 1, **head, "surface": "native loop of one kernel, operands in turn, wall time", "roofline": ceilings,
            "problems": [problem_json(r, roofline) for r in records]}  # fmt: skip
