"""Modules in a row: their parameters are named by position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dinoml.frontend.model import Module


class ModuleList(Module):
    """A list of modules; has no forward of its own."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self._modules = list(modules)

    def append(self, module: Module) -> ModuleList:
        """Add a module and return self."""
        self._modules.append(module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules)

    def __getitem__(self, index: int) -> Module:
        return self._modules[index]


class Sequential(ModuleList):
    """Modules that are called one after another."""

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, x: Any) -> Any:
        for module in self._modules:
            x = module(x)
        return x
