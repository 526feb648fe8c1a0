"""Model files: a Python file with build_spec(), and optionally build_validation_inputs(), torch_reference() and numpy_reference()."""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from dinoml.cli.status import CliError


@dataclass(frozen=True)
class ModelFile:
    """A loaded model file."""

    path: Path
    module: ModuleType

    def function(self, name: str) -> Callable[..., Any] | None:
        """Return a function of the file, or None; raise CliError when the name is no function."""
        found = getattr(self.module, name, None)
        if found is not None and not callable(found):
            raise CliError(f"{self.path}: {name} is a {type(found).__name__}, not a function")
        return found

    def require(self, name: str, why: str) -> Callable[..., Any]:
        """Return a function of the file; raise CliError saying what needs it."""
        found = self.function(name)
        if found is None:
            near = difflib.get_close_matches(name, dir(self.module), 1)
            raise CliError(f"{self.path}: no function {name}(), which {why}" + (f"; did you mean {near[0]}?" if near else ""))
        return found

    def call(self, name: str, why: str, offered: Mapping[str, Any], extra: Mapping[str, Any], *arguments: Any) -> Any:
        """Call a function with those of `offered` that it takes and all of `extra`; raise CliError for an extra it does not take."""
        function = self.require(name, why)
        return function(*arguments, **accepted(function, f"{self.path}: {name}()", offered, extra, skip=len(arguments)))


def load(path: Path) -> ModelFile:
    """Execute a model file and return it; raise CliError when it cannot be imported as a file."""
    if path.suffix != ".py" or not path.is_file():
        raise CliError(f"model file {path}: {'is not a .py file' if path.exists() else 'does not exist'}")
    path = path.resolve()
    name = f"dinoml_model_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    loader = importlib.util.spec_from_file_location(name, path)
    assert loader is not None
    assert loader.loader is not None
    module = importlib.util.module_from_spec(loader)
    sys.modules[name] = module  # dataclasses and pickle look the module up by name
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # a model file may import its neighbours, as a script may
    loader.loader.exec_module(module)
    return ModelFile(path, module)


def accepted(function: Callable[..., Any], what: str, offered: Mapping[str, Any], extra: Mapping[str, Any], *, skip: int = 0) -> dict[str, Any]:
    """Return the keyword arguments for a function: of `offered` what its signature names, of `extra` everything."""
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for key in extra:
        if key not in names and not anything:
            near = difflib.get_close_matches(key, names, 1)
            takes = f"it takes {', '.join(names)}" if names else "it takes no arguments"
            raise CliError(f"{what} has no argument {key!r}; {takes}" + (f". Did you mean {near[0]!r}?" if near else ""))
    return {**{k: v for k, v in offered.items() if k in names}, **extra}


def parse_pairs(texts: Sequence[str], flag: str) -> dict[str, Any]:
    """Return KEY=JSON pairs; a value that is no JSON is taken as a string when it looks like a word."""
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise CliError(f"{flag} {text!r}: write KEY=JSON, for example {flag} layers=6")
        try:
            pairs[key] = json.loads(value)
        except json.JSONDecodeError as error:
            if not value.replace("_", "").replace("-", "").replace(".", "").isalnum():
                raise CliError(f"{flag} {key}: {value!r} is no JSON ({error.msg} at {error.pos}); strings need quotes: {key}='\"text\"'") from None
            pairs[key] = value
    return pairs


def parse_extents(texts: Sequence[str], flag: str) -> dict[str, list[int]]:
    """Return NAME=1,2 pairs; raise CliError for anything but whole numbers."""
    shapes = {}
    for text in texts:
        name, equals, value = text.partition("=")
        parts = value.replace("x", ",").split(",")
        if not equals or not name or not all(p.strip().isdigit() for p in parts):
            raise CliError(f"{flag} {text!r}: write NAME=EXTENT,EXTENT, for example {flag} batch=1,4")
        shapes[name] = [int(p) for p in parts]
    return shapes
