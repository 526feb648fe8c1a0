"""`dinoml compile`: from a model file to an artifact."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dinoml import env
from dinoml.cli import artifact_files, model_file, output, status
from dinoml.targets import Target

if TYPE_CHECKING:
    from dinoml.compiler import Artifact


def target_of(arguments: argparse.Namespace) -> Target:
    """Return the target that the command line names; raise NotBuiltYetError before any work for one that cannot be compiled."""
    target = Target(
        arguments.target, arguments.arch, no_tf32=arguments.no_tf32 or None, use_fp16_acc=arguments.use_fp16_acc or None,
        tf32=arguments.tf32, threads=arguments.threads,
    )  # fmt: skip
    target.check_available()
    return target


def offered(target: Target, dtype: str | None) -> dict[str, Any]:
    """Return the keyword arguments that build_spec may take."""
    values = {"target": target.name, "arch": target.arch, "no_tf32": not target.tf32, "use_fp16_acc": target.fp16_accumulate}
    return values if dtype is None else {**values, "dtype": dtype}


def run(arguments: argparse.Namespace) -> int:
    """Compile a model file."""
    target = target_of(arguments)
    kwargs = model_file.parse_pairs(arguments.build_spec_kwarg, "--build-spec-kwarg")
    shapes = model_file.parse_extents(arguments.profile_shape, "--profile-shape")
    if arguments.execution_plan and not arguments.execution_plan.is_file():
        raise status.CliError(f"--execution-plan {arguments.execution_plan}: no such file")
    if arguments.execution_plan and arguments.profile:
        raise status.CliError("--profile and --execution-plan contradict each other: profiling makes a plan, the other one takes it")
    if arguments.dtype is not None and "dtype" not in kwargs:
        kwargs = {**kwargs, "dtype": arguments.dtype}
    start = time.perf_counter()
    model = model_file.load(arguments.model)
    spec = model.call("build_spec", "compile traces", offered(target, arguments.dtype), kwargs)
    traced = time.perf_counter()
    artifact = _compile(arguments, spec, target, shapes)
    summary = _summary(artifact, target, traced - start, time.perf_counter() - traced)
    if arguments.json:
        output.print_json(summary)
        return status.OK
    output.print_pairs([
        ("artifact", summary["artifact"]),
        ("target", str(target)),
        ("kernels", f"{summary['kernels']}, of which {summary['compiled']} compiled now; {env.show_bytes(summary['code_bytes'])} of code"),
        ("constants", env.show_bytes(summary["constant_bytes"])),
        ("time", ", ".join(f"{name} {seconds:.2f} s" for name, seconds in summary["seconds"].items())),
    ])  # fmt: skip
    return status.OK


def _compile(arguments: argparse.Namespace, spec: Any, target: Target, shapes: Mapping[str, list[int]]) -> Artifact:
    from dinoml.compiler import compile

    options: dict[str, Any] = {"constant_load_policy": arguments.constant_load_policy, "jobs": arguments.jobs}
    if arguments.execution_plan:
        options |= {"execution_plan": arguments.execution_plan, "strict_plan": arguments.strict_plan}
    if arguments.profile:
        options |= {
            "profile": True, "profile_iterations": arguments.profile_iterations, "profile_repeats": arguments.profile_repeats,
            "profile_refresh": arguments.profile_refresh, "profile_input_shapes": shapes or None,
        }  # fmt: skip
    with output.progress_bar(arguments.json) as progress:
        return compile(spec, target, arguments.out, progress=progress, **options)


def _summary(artifact: Artifact, target: Target, trace_seconds: float, compile_seconds: float) -> dict[str, Any]:
    files = artifact_files.ArtifactFiles(artifact.path)
    return {
        "artifact": str(files.path),
        "target": target.to_json(),
        "digest": files.manifest.digest,
        **artifact.objects,
        "code_bytes": files.size("module.so"),
        "constant_bytes": files.size("constants.safetensors"),
        "total_bytes": artifact.nbytes,
        "seconds": {k: round(v, 3) for k, v in {"trace": trace_seconds, **artifact.timings, "total": trace_seconds + compile_seconds}.items()},
    }
