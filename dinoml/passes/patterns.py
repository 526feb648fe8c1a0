"""Applying the graph rewrites that operator folders declare.

`patterns.py` of a folder lists functions in `PATTERNS`: each takes (function, target) and returns a new function, or the same
object when nothing matched. A folder's patterns run when its operator occurs.
"""

from __future__ import annotations

from dinoml.ir.graph import Function, Graph
from dinoml.operators import registry
from dinoml.targets import Target


def apply_patterns(graph: Graph, target: Target) -> Graph:
    """Return the graph after all declared rewrites have been applied until none matches; raise RuntimeError when they never end."""
    return graph.map(lambda fn: _function(fn, target))


def _function(fn: Function, target: Target) -> Function:
    for _ in range(len(fn.nodes) + 1):
        before = fn
        for name in dict.fromkeys(n.op for n in fn.nodes):
            module = registry.get(name).patterns
            for pattern in getattr(module, "PATTERNS", ()):
                fn = pattern(fn, target)
        if fn is before:
            return fn
    raise RuntimeError(f"the patterns of {', '.join(sorted({n.op for n in fn.nodes}))} keep rewriting function {fn.name!r}")
