"""The pass pipeline: runs passes in order, verifies after each, and records what each changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from dinoml.ir import serialize
from dinoml.ir.graph import Function, Graph, Node, TensorType
from dinoml.ir.verify import verify
from dinoml.operators import registry
from dinoml.operators.operator import node_call
from dinoml.passes import cleanup, constants, decompose, patterns
from dinoml.targets import Target

Pass = Callable[[Graph, Target], Graph]


@dataclass(frozen=True)
class PassReport:
    """What one pass did: graph digests and node counts before and after, seconds."""

    name: str
    before: str
    after: str
    nodes_before: int
    nodes_after: int
    seconds: float

    @property
    def changed(self) -> bool:
        return self.before != self.after

    def to_json(self) -> dict[str, object]:
        """Return the JSON form for the artifact's report."""
        return {**self.__dict__, "changed": self.changed}


PIPELINE: tuple[tuple[str, Pass], ...] = (
    ("decompose", decompose.decompose),
    ("eliminate common subexpressions", cleanup.common_subexpressions),
    ("eliminate dead code", cleanup.dead_code),
    ("apply patterns", patterns.apply_patterns),
    ("expand patterns", decompose.decompose),
    ("eliminate common subexpressions again", cleanup.common_subexpressions),
    ("store constants", constants.store_constants),
    ("fold constants", constants.fold_constants),
    ("eliminate dead code again", cleanup.dead_code),
)


def infer(fn: Function, node: Node) -> tuple[TensorType, ...]:
    """Return the types of a node's results as its operator gives them."""
    op = registry.get(node.op)
    return op.infer(node_call(op, node, fn.types))


def run_passes(graph: Graph, target: Target, on_pass: Callable[[str, Graph], None] | None = None) -> tuple[Graph, list[PassReport]]:
    """Return the optimised graph and a report per pass; raise VerifyError naming the pass that broke a rule."""
    verify(graph, infer)
    reports: list[PassReport] = []
    before = serialize.digest(graph)
    for name, run in PIPELINE:
        start = time.perf_counter()
        new = run(graph, target)
        try:
            verify(new)
        except ValueError as e:
            raise type(e)(f"after the pass {name!r}: {e}") from e
        after = serialize.digest(new)
        reports.append(PassReport(name, before, after, _count(graph), _count(new), time.perf_counter() - start))
        graph, before = new, after
        if on_pass:
            on_pass(name, graph)
    verify(graph, infer)
    return graph, reports


def _count(g: Graph) -> int:
    return sum(len(f.nodes) for f in g.functions) + (len(g.constant_program.nodes) if g.constant_program else 0)
