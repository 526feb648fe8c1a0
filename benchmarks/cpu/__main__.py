"""`python -m benchmarks.cpu`: run all comparisons, print tables, write JSON."""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.cpu import cases, ceilings, peers
from benchmarks.cpu.timing import Timing, compare


def last_level_bytes() -> int:
    """Return the size of the largest cache."""
    sizes = [p.read_text().strip() for p in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max((int(s[:-1]) * {"K": 1 << 10, "M": 1 << 20}[s[-1]] for s in sizes), default=32 << 20)


def cpu_name() -> str:
    """Return the CPU's model name and family."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    fact = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    return f"{fact.get('model name', platform.machine())} (family {fact.get('cpu family')}, model {fact.get('model')})"


def measure(case: cases.Case, threads: int, seconds: float, chosen: list[str], notes: list[str]) -> dict[str, Any]:
    """Return the timings of one case."""
    contestants: dict[str, Callable[[int], object]] = {}
    session = case.session(threads)
    if case.outputs:
        outs = case.outputs()
        contestants["DinoML"] = lambda i: session.run(case.inputs(i), out={"y": outs[i % len(outs)]})
    else:
        contestants["DinoML"] = lambda i: session.run(case.inputs(i))
    for name in chosen:
        try:
            run = peers.build(name, case.module(), case.inputs(0), threads)
            _check(name, run(case.inputs(0)), session.run_numpy(dict(case.inputs(0))))
            contestants[name] = lambda i, run=run: run(case.inputs(i))
        except Exception as e:  # a peer that cannot run a case is a note in the table, not the end of the run
            notes.append(f"{name} did not run {case.name}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
    result: dict[str, Timing] = compare(contestants, seconds, least=max(7, 2 * case.sets))
    row: dict[str, Any] = {"group": case.group, "case": case.name, "threads": threads, "times": {k: vars(t) for k, t in result.items()}}
    others = [t.median_ms for k, t in result.items() if k != "DinoML"]
    mine = result["DinoML"].median_ms
    row["best peer / DinoML"] = min(others) / mine if others else None
    if case.flops:
        row["gflops"] = case.flops / mine / 1e6
    if case.bytes_moved:
        row["copy_ms"] = ceilings.copy_ms(threads, case.bytes_moved // 2, case.sets)
        row["of copy"] = mine / row["copy_ms"]
    if case.extra.get("m") == 1:
        row["read fraction"] = case.extra["weight_bytes"] / mine / 1e6 / ceilings.read_gbps(threads, case.extra["weight_bytes"])
    return row


def _check(name: str, got: Any, want: dict[str, np.ndarray]) -> None:
    first = got[0] if isinstance(got, (list, tuple)) else got
    if hasattr(first, "keys"):
        first = next(iter(first.values()))
    error = float(np.max(np.abs(np.asarray(first) - next(iter(want.values())))))
    if not error < 1e-2:
        raise ValueError(f"differs from DinoML by {error:.3g}")


def table(rows: list[dict[str, Any]], threads: int, names: list[str]) -> Table:
    """Return one table for a thread count."""
    t = Table(title=f"{threads} thread{'s' * (threads > 1)}, medians in ms ± spread", title_justify="left")
    for h in ("case", *names, "best peer / DinoML", "GFLOP/s", "time / best copy"):
        t.add_column(h, justify="left" if h == "case" else "right")
    for r in (r for r in rows if r["threads"] == threads):
        cells = [r["case"]]
        for n in names:
            one = r["times"].get(n)
            cells.append(f"{one['median_ms']:.3f} ±{100 * one['spread']:.0f}%" if one else "–")
        ratio = r["best peer / DinoML"]
        cells += [f"{ratio:.2f}" if ratio else "–", f"{r['gflops']:.0f}" if "gflops" in r else "", f"{r['of copy']:.2f}" if "of copy" in r else ""]
        t.add_row(*cells)
    return t


def groups(chosen: list[str]) -> Iterator[cases.Case]:
    """Yield the cases of the chosen groups."""
    if "model" in chosen:
        yield from cases.models()
    if "gemm" in chosen:
        yield from cases.products()
    if "memory" in chosen:
        yield from cases.memory_bound(last_level_bytes())


def main() -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu", description=__doc__)
    parser.add_argument("--groups", default="model,gemm,memory")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peers", default=",".join(peers.NAMES))
    parser.add_argument("--seconds", type=float, default=6.0, help="per case and thread count")
    parser.add_argument("--json", type=Path, help="write all figures here")
    arguments = parser.parse_args()
    console = Console(width=180)
    notes: list[str] = []
    wanted = [p for p in arguments.peers.split(",") if p]
    for name in wanted:
        if peers.missing(name):
            notes.append(f"{name} is left out: not installed: {', '.join(peers.missing(name))}")
    chosen = [p for p in wanted if not peers.missing(p)]
    rows: list[dict[str, Any]] = []
    counts = [int(t) for t in arguments.threads.split(",")]
    limits = {t: ceilings.fma_gflops(t) for t in counts}
    for threads in counts:
        for case in groups(arguments.groups.split(",")):
            rows.append(measure(case, threads, arguments.seconds, chosen, notes))
            console.log(f"{threads} thread(s): {case.name}: {rows[-1]['best peer / DinoML']}")
    names = ["DinoML", *(n for n in chosen)]
    for threads in counts:
        console.print(table(rows, threads, names))
        gemm = [r["gflops"] / limits[threads] for r in rows if r["threads"] == threads and r["group"] == "gemm"]
        mean = f"; products: geometric mean {math.exp(sum(map(math.log, gemm)) / len(gemm)):.2f} of it" if gemm else ""
        console.print(f"multiply-add ceiling with {threads} thread(s): {limits[threads]:.0f} GFLOP/s{mean}")
    for n in dict.fromkeys(notes):
        console.print(f"note: {n}")
    if arguments.json:
        record = {"date": time.strftime("%Y-%m-%d"), "cpu": cpu_name(), "fma_gflops": limits, "rows": rows, "notes": notes}
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
