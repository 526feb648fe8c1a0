"""Applying the graph rewrites that operator folders declare.

`patterns.py` of a folder defines `rewrite(function, builder) -> None`-style functions listed in `PATTERNS`: each takes the
function and returns a new one, or the same object when nothing matched. A folder's patterns run when its operator occurs.
"""

from __future__ import annotations

from dinoml.ir.graph import Function, Graph
from dinoml.operators import registry
from dinoml.targets import Target

ROUNDS = 8


def apply_patterns(graph: Graph, target: Target) -> Graph:
    """Return the graph after all declared rewrites have been applied until none matches (at most ROUNDS times)."""
    return graph.map(lambda fn: _function(fn, target))


def _function(fn: Function, target: Target) -> Function:
    for _ in range(ROUNDS):
        before = fn
        for name in dict.fromkeys(n.op for n in fn.nodes):
            module = registry.get(name).patterns
            for pattern in getattr(module, "PATTERNS", ()):
                fn = pattern(fn, target)
        if fn is before:
            return fn
    return fn
