"""Kernel templates as the compiler sees them: a Python description beside the headers in csrc/kernels.

`csrc/kernels/<template>.py` defines
- `DIMS`: the dims struct in C++ and, per extra scalar of a form, nothing else is needed;
- `numpy(ports, dims, params) -> list`: the template's meaning on arrays over its coordinates, one result per store port;
- `candidates(problem) -> list[Candidate]`: implementations in default order; the last accepts every problem.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from dinoml import paths
from dinoml.ir import intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.kernels import Kernel, Port
from dinoml.targets import Target


@dataclass(frozen=True)
class Candidate:
    """One implementation of a problem.

    `conditions` are integer expressions over dims that must all be >= 0 for it to be used; `params` become the constexpr
    members of the template's parameter struct P. `scratch` is C++ for the bytes of all workers over `workers`, `d` (the dims), P and the
    ports' types (`BPort`). `packed` is the C++ type of packed operands over the storage type, `identity` that of an absent map.
    `stream` makes contiguous stores bypass the caches. A candidate with `declined` set is only reported.
    """

    name: str
    header: str = ""  # below csrc/
    function: str = ""  # qualified C++ name
    params: tuple[tuple[str, Any], ...] = ()
    conditions: tuple[IntLike, ...] = ()
    scratch: str = ""
    packed: str = ""
    identity: str = "NoMap"
    stream: bool = False
    declined: str = ""


STREAM_ELEMENTS = 3 << 20  # results beyond the last-level cache gain from bypassing it; smaller ones are soon read again from it


def streamed(base: Candidate, elements: IntLike) -> Candidate:
    """Return a CPU candidate's variant for large results, whose contiguous stores bypass the caches."""
    return replace(base, name=f"{base.name}s", conditions=(*base.conditions, intexpr.add(elements, -STREAM_ELEMENTS)), stream=True)


@dataclass(frozen=True)
class Problem:
    """What a template's `candidates` decides on."""

    kernel: Kernel
    target: Target
    params: dict[str, Any] = field(hash=False, compare=False, default_factory=dict)

    @property
    def dims(self) -> tuple[IntLike, ...]:
        return self.kernel.dims

    def port(self, name: str) -> Port:
        """Return a port by name."""
        return next(p for p in self.kernel.ports if p.name == name)


@cache
def template(name: str) -> ModuleType:
    """Return the description of a template; raise KeyError naming the folder when there is none."""
    path: Path = paths.csrc_root() / "kernels" / f"{name}.py"
    if not path.is_file():
        raise KeyError(f"no kernel template {name!r} in {path.parent}")
    found = importlib.util.spec_from_file_location(f"dinoml_templates.{name}", path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def candidates(kernel: Kernel, target: Target) -> list[Candidate]:
    """Return the candidates of a kernel in default order, declined ones included."""
    return list(template(kernel.template).candidates(Problem(kernel, target, dict(kernel.params))))
