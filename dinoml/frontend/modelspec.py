"""The result of tracing: a graph and the values of its constants."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dinoml.frontend.model import array_of
from dinoml.ir.graph import Graph


@dataclass
class ModelSpec:
    """A traced model. `constants` holds the values bound so far, `tied` other paths of shared parameters."""

    name: str
    graph: Graph
    constants: dict[str, Any] = field(default_factory=dict)
    tied: dict[str, str] = field(default_factory=dict)

    def bind_constants(self, values: Mapping[str, Any]) -> ModelSpec:
        """Bind values by name and return self; raise one ValueError that lists everything that does not fit."""
        declared = {c.name: c for c in self.graph.sources}
        found: dict[str, Any] = {}
        problems: list[str] = []
        for given, value in values.items():
            name = self.tied.get(given, given)
            if name not in declared:
                near = difflib.get_close_matches(given, declared, 1)
                problems.append(f"there is no constant {given!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
                continue
            if hasattr(value, "encoding"):
                found[name] = value
                continue
            t = declared[name].type
            try:
                found[name] = array_of(value, t.dtype, f"constant {given!r}", tuple(int(d) for d in t.shape))  # type: ignore[arg-type]
            except (TypeError, ValueError) as e:
                problems.append(str(e))
        if problems:
            raise ValueError(f"{self.name}: constants cannot be bound: " + "; ".join(problems))
        self.constants.update(found)
        return self

    @property
    def unbound(self) -> list[str]:
        """The constants without a value."""
        return [c.name for c in self.graph.sources if c.name not in self.constants]

    def clone(self) -> ModelSpec:
        """Return a copy whose constants can be bound independently (the graph is immutable and shared)."""
        return ModelSpec(self.name, self.graph, copy.copy(self.constants), dict(self.tied))

    def canonical_json(self) -> str:
        """Return the graph as canonical JSON: the same model gives the same text."""
        from dinoml.ir import serialize

        return serialize.canonical(self.graph)
