"""An artifact as the commands see it: its JSON files, read one by one when they are asked for."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dinoml.artifact.reader import Artifact
from dinoml.cli.status import CliError

if TYPE_CHECKING:
    from dinoml.ir.graph import Function, Graph


class ArtifactFiles(Artifact):
    """An artifact folder as data. Raises CliError for what is no artifact, DinoMLError for a damaged or foreign one."""

    def __init__(self, path: Path) -> None:
        if not (path / "manifest.json").is_file():
            what = "holds no manifest.json, so it is no artifact" if path.is_dir() else "is no folder"
            raise CliError(f"{path} {what}; `dinoml compile MODEL --out {path}` makes one")
        super().__init__(path)

    def size(self, name: str) -> int:
        """Return the bytes of a file, 0 when it is not there."""
        path = self.path / name
        return path.stat().st_size if path.is_file() else 0

    @cached_property
    def graph(self) -> Graph:
        """The graph after all passes."""
        from dinoml.ir import serialize

        return serialize.from_json(self.read_json("graph.json"))

    def function(self, name: str | None) -> Function:
        """Return the only function or the named one; raise CliError otherwise."""
        functions = {f.name: f for f in self.graph.functions}
        if name is None and len(functions) == 1:
            return next(iter(functions.values()))
        if name not in functions:
            why = f"no function {name!r}" if name else "several functions, choose one with --function"
            raise CliError(f"{self.path}: {why}; it has {', '.join(functions)}")
        return functions[name]

    @cached_property
    def kernels(self) -> dict[str, Any]:
        """Kernels with their origin, and objects."""
        return dict(self.read_json("kernels.json"))
