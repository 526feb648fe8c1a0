"""`dinoml benchmark`: time an artifact in its native loop."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from dinoml.cli import inputs, model_file, output, status
from dinoml.cli.artifact_files import ArtifactFiles
from dinoml.ir.graph import Function

if TYPE_CHECKING:
    from dinoml.runtime import Session


def inputs_for(arguments: argparse.Namespace, files: ArtifactFiles, function: Function) -> inputs.Arrays:
    """Return the inputs of the model file, or made-up ones."""
    import numpy as np

    np.random.seed(arguments.seed)  # model files may use the global generator
    extents = {name: values[0] for name, values in model_file.parse_extents(getattr(arguments, "shape", []), "--shape").items()}
    if arguments.against is None:
        return inputs.made_up(files.graph, function, extents, arguments.seed)
    kwargs = model_file.parse_pairs(arguments.against_kwarg, "--against-kwarg")
    return inputs.from_model(model_file.load(arguments.against), function, kwargs)


def run(arguments: argparse.Namespace) -> int:
    """Time the runs, and each kernel when asked."""
    from dinoml import runtime

    if arguments.warmup < 0:
        raise status.CliError(f"--warmup {arguments.warmup}: must be at least 0")
    files = ArtifactFiles(arguments.artifact)
    function = files.function(arguments.function)
    arrays = inputs_for(arguments, files, function)
    with runtime.load(files.path) as module, module.create_session(threads=arguments.threads) as session:
        threads = session.info["threads"]
        timing = session.benchmark(arrays, function=function.name, warmup=arguments.warmup, iterations=arguments.iterations)
        # Timed apart: a clock read per kernel would show in the whole.
        kernels = _kernels(session, arrays, function.name, arguments) if arguments.per_kernel else []
    report: dict[str, Any] = {
        "artifact": str(files.path),
        "function": function.name,
        "surface": "native loop, wall time of each run",
        "threads": threads,
        "inputs": {name: {"dtype": a.dtype.name, "shape": list(a.shape)} for name, a in arrays.items()},
        "warmup": arguments.warmup,
        **timing.to_json(),
        "kernels": kernels,
    }
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(report, indent=2) + "\n")
    if arguments.json:
        output.print_json(report)
    else:
        _show(report)
    return status.OK


def _kernels(session: Session, arrays: inputs.Arrays, function: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The times of the steps, slowest first."""
    timing = session.benchmark(arrays, function=function, warmup=arguments.warmup, iterations=arguments.iterations, per_kernel=True)
    return sorted((vars(k) for k in timing.kernels), key=lambda k: -k["median_us"])


def _show(report: dict[str, Any]) -> None:
    shapes = ", ".join(f"{n} {i['dtype']}{i['shape']}" for n, i in report["inputs"].items())

    def ms(what: str) -> str:
        return output.show_time(report[f"{what}_ms"] * 1e6)

    output.print_pairs([
        ("artifact", report["artifact"]),
        ("inputs", shapes),
        ("median", f"{ms('median')} (min {ms('min')}, max {ms('max')}, stddev {ms('stddev')})"),
        ("runs", f"{report['count']} after {report['warmup']} for warm-up, {report['threads']} threads, {report['surface']}"),
    ])  # fmt: skip
    if report["kernels"]:
        rows = [(k["kernel"], k["node"], output.show_time(k["median_us"] * 1e3), f"{100 * k['share']:.1f} %") for k in report["kernels"]]
        output.print_table("kernels", ("kernel", "node", "median", "share"), rows, right=("median", "share"))
