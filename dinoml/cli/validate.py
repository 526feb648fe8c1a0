"""`dinoml validate`: compare what an artifact computes with the reference of its model file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from dinoml.cli import bisect, inputs, model_file, output, status, verdict
from dinoml.cli.artifact_files import ArtifactFiles
from dinoml.cli.benchmark import inputs_for
from dinoml.ir.graph import Function
from dinoml.operators.evaluate import bind_dims

_NAMES = ("numpy_reference", "torch_reference")


def run(arguments: argparse.Namespace) -> int:
    """Run, compare each output, and return 1 when one differs."""
    from dinoml import runtime

    files = ArtifactFiles(arguments.artifact)
    function = files.function(arguments.function)
    model = model_file.load(arguments.against)
    arrays = inputs_for(arguments, files, function)
    source, wanted = _references(model, files, function, arrays, model_file.parse_pairs(arguments.against_kwarg, "--against-kwarg"))
    kernels = sum(k["function"] == function.name for k in files.kernels["kernels"])
    dims = bind_dims(function.types, arrays)
    rules = verdict.Rules.of(function, dims, kernels, arguments.atol, arguments.rtol)
    with runtime.load(files.path) as module, module.create_session(threads=arguments.threads) as session:
        got = session.run_numpy(arrays, function=function.name)
        verdicts = {name: rules.judge(got[name], want, got[name].dtype.name) for name, want in wanted.items()}
        passed = all(v.ok for v in verdicts.values())
        found = None
        if arguments.bisect:
            local = verdict.Rules.of(function, dims, 1, arguments.atol, arguments.rtol)
            found = next((s for s in bisect.steps(files, function, session, arrays, local.judge) if not s.verdict.ok), None)
    report: dict[str, Any] = {
        "artifact": str(files.path),
        "reference": source,
        "passed": passed,
        "outputs": {name: v.to_json() for name, v in verdicts.items()},
        **({"first_wrong": None if found is None else {**vars(found), "verdict": found.verdict.to_json()}} if arguments.bisect else {}),
    }
    if arguments.json:
        output.print_json(report)
    else:
        _show(report, found, asked=arguments.bisect)
    return status.OK if passed else status.MISMATCH


def _references(model: model_file.ModelFile, files: ArtifactFiles, function: Function, arrays: inputs.Arrays,
                kwargs: Mapping[str, Any]) -> tuple[str, inputs.Arrays]:  # fmt: skip
    """Return where the reference comes from and its values; the operators' own references stand in when the model file has none."""
    name = next((n for n in _NAMES if model.function(n)), None)
    if name is None:
        references = bisect.references_for(files, function, arrays)
        return "the operators' NumPy references in float64", {o.name: references.value(o.value) for o in function.outputs}
    result = model.call(name, "gives the wanted outputs", {"function": function.name}, _taken(model, name, kwargs), dict(arrays))
    if not isinstance(result, Mapping):
        raise status.CliError(f"{model.path}: {name}() returned {type(result).__name__}, not a dict of arrays")
    names = [o.name for o in function.outputs]
    for given in result:
        if given not in names:
            raise status.CliError(f"{model.path}: {name}() returned {given!r}; the outputs are {', '.join(names)}")
    missing = [n for n in names if n not in result]
    if missing:
        raise status.CliError(f"{model.path}: {name}() returned no {', '.join(missing)}")
    return f"{name}() of {model.path.name}", {n: inputs.to_numpy(result[n]) for n in names}


def _taken(model: model_file.ModelFile, name: str, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Those keyword arguments that the reference takes: build_validation_inputs() has checked that they exist."""
    function = model.require(name, "gives the wanted outputs")
    return model_file.accepted(function, name, kwargs, {}, skip=1)


def _show(report: Mapping[str, Any], found: bisect.StepVerdict | None, *, asked: bool) -> None:
    rows = [(name, "ok" if v["ok"] else "WRONG", v["dtype"], v["shape"], f"{v['max_abs']:.3g}", v["measure"], v["why"])
            for name, v in report["outputs"].items()]  # fmt: skip
    output.print_table("", ("output", "", "dtype", "shape", "max diff", "measure", ""), rows, right=("max diff",))
    print(f"{'passed' if report['passed'] else 'FAILED'} against {report['reference']}")
    if found is not None:
        output.print_pairs([
            ("first wrong", f"step {found.step}, value {found.value}"),
            ("kernel", found.kernel),
            ("nodes", found.nodes),
            ("source", found.source),
            ("measure", f"{found.verdict.measure} {found.verdict.why}"),
        ])  # fmt: skip
    elif asked:
        print("every kernel computes what its operators' references make of its inputs")
