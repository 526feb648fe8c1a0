"""Operators by name: the process-wide index, and specs read on first use."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache

from dinoml import paths
from dinoml.operators import catalog
from dinoml.operators import spec as specs
from dinoml.operators.operator import Operator


@cache
def index() -> catalog.Index:
    """Return the index of the installed operators."""
    return catalog.build(paths.operators_root())


@cache
def get(name: str) -> Operator:
    """Return an operator by its canonical name; raise KeyError with the nearest name."""
    entry = index().entries.get(name)
    if entry is None:
        raise KeyError(unknown(name))
    return Operator(specs.load(index().root / entry.path))


def names() -> list[str]:
    """Return the canonical names of all operators."""
    return sorted(index().entries)


def role(name: str) -> str:
    """Return the operator that plays a role which the core needs: "number" makes a literal, "copy" gives a value its own buffer."""
    return index().sugar[f"role:{name}"]


def unknown(name: str) -> str:
    """Return the message for a name that no operator has."""
    near = difflib.get_close_matches(name, index().public, 3)
    return f"there is no operator {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")


@dataclass(frozen=True)
class Public:
    """A public name: an operator, possibly through an alias that fixes attributes or inputs."""

    name: str
    operator: Operator
    alias: specs.Alias | None


@cache
def public(name: str) -> Public:
    """Return what a public name stands for; raise KeyError with the nearest names."""
    base = index().public.get(name)
    if base is None:
        raise KeyError(unknown(name))
    op = get(base)
    return Public(name, op, next((a for a in op.spec.aliases if a.name == name), None))
