"""What passes remove, merge and expand; that they keep the meaning is checked by the references."""

from __future__ import annotations

import numpy as np
import pytest
from support import graphs
from support.samples import TARGET, library

from dinoml import Dim, TensorSpec, ops, trace
from dinoml.ir.graph import Function, Graph
from dinoml.operators.evaluate import evaluate
from dinoml.passes import cleanup, manager, run_passes

N = Dim("n", min=1, max=8)
INPUTS = {"x": TensorSpec([N, 6])}


def _main(g: Graph) -> Function:
    return g.functions[0]


def _ops(g: Graph) -> list[str]:
    return [n.op for n in _main(g).nodes]


def test_equal_chains_are_merged_transitively() -> None:
    g = trace(lambda x: ops.relu(ops.exp(x)) + ops.relu(ops.exp(x)), inputs=INPUTS).graph
    assert _ops(cleanup.common_subexpressions(g, TARGET)) == ["exp", "relu", "add"]


def test_outputs_own_their_buffers() -> None:
    g = trace(lambda x: {"a": ops.exp(x), "b": ops.exp(x)}, inputs=INPUTS).graph
    g, _ = run_passes(g, TARGET)
    assert len({o.value for o in _main(g).outputs}) == 2


def test_dead_nodes_go_and_inputs_stay() -> None:
    def model(x, unused):  # type: ignore[no-untyped-def]
        ops.exp(unused)
        return ops.relu(x)

    g = cleanup.dead_code(trace(model, inputs={**INPUTS, "unused": TensorSpec([3])}).graph, TARGET)
    assert _ops(g) == ["relu"] and _main(g).inputs == ("x", "unused")


@pytest.mark.parametrize("position", range(len(manager.PIPELINE)), ids=[name for name, _ in manager.PIPELINE])
def test_each_pass_keeps_the_meaning(position: int) -> None:
    for seed in range(40):
        sample = graphs.random_sample(seed)
        lib = library([sample])
        g = lib.spec.graph
        for _, run in manager.PIPELINE[:position]:
            g = run(g, TARGET)
        before = _evaluate(g, lib.spec.constants, sample)
        after = _evaluate(manager.PIPELINE[position][1](g, TARGET), lib.spec.constants, sample)
        for name, want in before.items():
            np.testing.assert_allclose(after[name], want, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed} {name}")


def _evaluate(g: Graph, sources, sample):  # type: ignore[no-untyped-def]
    made = evaluate(g.constant_program, {i: sources[i] for i in g.constant_program.inputs}) if g.constant_program else {}
    return evaluate(g, sample.arrays, {**sources, **made}, dims=sample.dims)


def test_reports_say_what_changed() -> None:
    g = trace(lambda x: ops.exp(x) + ops.exp(x), inputs=INPUTS).graph
    _, reports = run_passes(g, TARGET)
    by_name = {r.name: r for r in reports}
    merged = by_name["eliminate common subexpressions"]
    assert merged.changed and (merged.nodes_before, merged.nodes_after) == (3, 2)
    assert not by_name["decompose"].changed


def test_passes_reach_a_fixed_point() -> None:
    for seed in range(20):
        g, _ = run_passes(library([graphs.random_sample(seed)]).spec.graph, TARGET)
        f = _main(g)
        again = _main(cleanup.dead_code(cleanup.common_subexpressions(g, TARGET), TARGET))
        assert [n.id for n in again.nodes] == [n.id for n in f.nodes]
