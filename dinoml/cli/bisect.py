"""Finding the first kernel whose results are wrong: each is judged on what it really read, so errors do not add up on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dinoml.cli.artifact_files import ArtifactFiles
from dinoml.cli.inputs import Arrays
from dinoml.cli.reference import References
from dinoml.cli.status import CliError
from dinoml.ir import dtypes, intexpr
from dinoml.ir.graph import Function

if TYPE_CHECKING:
    from dinoml.cli.verdict import Verdict
    from dinoml.runtime import Session, TraceEvent

Judge = Callable[[np.ndarray[Any, Any], np.ndarray[Any, Any], str], "Verdict"]


@dataclass(frozen=True)
class StepVerdict:
    """How one value that a kernel wrote compares with what the operators' references make of what it read."""

    step: int
    kernel: str
    nodes: str
    source: str
    value: str
    verdict: Verdict


def references_for(files: ArtifactFiles, function: Function, arrays: Arrays) -> References:
    """Return the references of a function for some inputs; raise CliError for constants that are not stored as plain tensors."""
    encoded = [c.name for c in files.graph.constants if c.encoding != "dense"]
    if encoded:
        raise CliError(f"{files.path}: constant {encoded[0]!r} is encoded, so the values of the graph cannot be recomputed in NumPy")
    stored = files.stored_constants()
    states = {s.name: s.type for s in files.graph.states}
    known = {**arrays, **{name: stored[name] for name in function.constants}}
    for value, state in function.states.items():
        known[value] = np.zeros([int(intexpr.evaluate(e, {})) for e in states[state].shape], dtypes.numpy_dtype(states[state].dtype))
    return References(function, known)


def steps(files: ArtifactFiles, function: Function, session: Session, arrays: Arrays, judge: Judge) -> Iterator[StepVerdict]:
    """Run the function and yield a verdict for each value that its kernels wrote, in order."""
    events = _trace(session, function, arrays)
    references = references_for(files, function, arrays)
    public = {o.value: o.name for o in function.outputs}
    for kernel in (k for k in files.kernels["kernels"] if k["function"] == function.name):
        for value in kernel["writes"]:
            found = events.get((kernel["step"], value), events.get((kernel["step"], public.get(value, ""))))
            if found is None or value not in function.types:
                continue
            want = references.value(value)
            got = found[: want.size].reshape(want.shape)
            verdict = judge(got, want, function.types[value].dtype)
            yield StepVerdict(kernel["step"], kernel["name"], " ".join(kernel["fused"]), kernel["source"], value, verdict)
            references.settle(value, got)


def _trace(session: Session, function: Function, arrays: Arrays) -> dict[tuple[int, str], np.ndarray[Any, Any]]:
    """Run with a copy of every operand after each step."""
    copies: dict[tuple[int, str], np.ndarray[Any, Any]] = {}

    def keep(event: TraceEvent) -> None:
        for operand in event.operands:
            if operand.kind in ("arena", "output", "state"):
                copies[event.step, operand.name] = operand.numpy()

    session.set_trace(keep)
    try:
        session.run_numpy(arrays, function=function.name)
    finally:
        session.set_trace(None)
    return copies
