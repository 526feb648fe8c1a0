"""A loaded artifact."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dinoml import _native
from dinoml.runtime import errors

if TYPE_CHECKING:
    from dinoml.artifact.manifest import Manifest
    from dinoml.runtime.session import Session

_FIXED, _DIM, _COMPUTED, _EXTENT = range(4)


@dataclass(frozen=True)
class DimInfo:
    """A named dimension and the values it may take."""

    name: str
    min: int
    max: int
    divisible_by: int


@dataclass(frozen=True)
class TensorInfo:
    """An input, output, constant or state. An axis is a number, or text: a dim's name, an expression, `<= n` for a run-time extent."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True)
class StepInfo:
    """One launch of a function: its kernel, the graph nodes it covers, the model's source line."""

    kernel: str
    node: str
    source: str


@dataclass(frozen=True)
class FunctionInfo:
    """One entry point."""

    name: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    steps: tuple[StepInfo, ...]


def load(path: str | os.PathLike[str], *, constants: str | None = None, verify: str = "fast", expected_digest: str | None = None) -> Module:
    """Return the module of an artifact after checking versions, CPU features and digests; raise a DinoMLError that says what is wrong.

    constants: "eager" maps them now, "deferred" at `load_constants()`, None as the artifact says. verify: "fast" checks SHA-256 of
    code and JSON and a fast hash of constants, "full" SHA-256 of everything. expected_digest guards against another artifact.
    """
    return Module(_native.Module(os.fspath(path), constants or "", verify, expected_digest or ""), Path(path))


class Module:
    """A loaded artifact. Threads may share it; each creates its own sessions."""

    def __init__(self, native: _native.Module, path: Path) -> None:
        self._native = native
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._closed = False
        self.path = path
        self._info: dict[str, Any] = native.describe()

    def _open(self) -> _native.Module:
        if self._closed:
            raise errors.ClosedError(f"module {self.name!r} is closed; load it again")
        return self._native

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self._info["name"])

    @property
    def digest(self) -> str:
        """The artifact's digest, to be passed as `expected_digest` elsewhere."""
        return str(self._info["digest"])

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest as data."""
        from dinoml.artifact.reader import Artifact

        return Artifact(self.path).manifest

    @cached_property
    def dims(self) -> dict[str, DimInfo]:
        """The named dimensions."""
        return {d[0]: DimInfo(*d) for d in self._info["dims"]}

    @cached_property
    def functions(self) -> dict[str, FunctionInfo]:
        """The entry points by name."""
        written = {f.name: f for f in self.manifest.functions}
        out = {}
        for name, inputs, outputs, steps in self._info["functions"]:
            axes = {(kind, t.name): t.shape for kind, tensors in (("in", written[name].inputs), ("out", written[name].outputs)) for t in tensors}
            out[name] = FunctionInfo(
                name,
                tuple(self._tensor(t, axes.get(("in", t[0]))) for t in inputs),
                tuple(self._tensor(t, axes.get(("out", t[0]))) for t in outputs),
                tuple(StepInfo(*s) for s in steps),
            )
        return out

    def function(self, name: str | None = None) -> FunctionInfo:
        """Return a function; without a name the only one, or "main". Raises UnknownNameError."""
        if name is None and len(self.functions) == 1:
            return next(iter(self.functions.values()))
        wanted = name or "main"
        if wanted not in self.functions:
            raise errors.UnknownNameError(f"there is no function {wanted!r}; the module has: {', '.join(self.functions)}")
        return self.functions[wanted]

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """The inputs of the default function."""
        return {t.name: t for t in self.function().inputs}

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        """The outputs of the default function."""
        return {t.name: t for t in self.function().outputs}

    @cached_property
    def constants(self) -> dict[str, TensorInfo]:
        """The source constants, as the model's author named them."""
        return {t[0]: self._tensor(t) for t in self._info["sources"]}

    @cached_property
    def states(self) -> dict[str, TensorInfo]:
        """The states that each session holds."""
        return {t[0]: self._tensor(t) for t in self._info["states"]}

    def _tensor(self, raw: tuple[str, str, list[tuple[int, int]]], written: tuple[Any, ...] | None = None) -> TensorInfo:
        name, dtype, axes = raw
        shape: list[int | str] = []
        for i, (kind, value) in enumerate(axes):
            if kind == _FIXED:
                shape.append(value)
            elif kind == _DIM:
                shape.append(str(self._info["dims"][value][0]))
            else:
                from dinoml.artifact.manifest import axis_text

                text = axis_text(written[i]) if written else "?"
                shape.append(text if kind == _COMPUTED or text.startswith("<=") else f"<= {text}")
        return TensorInfo(name, dtype, tuple(shape))

    def create_session(self, threads: int | None = None, debug: bool = False) -> Session:
        """Return a new session. threads: None takes one per physical core that this process may use.

        debug: arena and scratch are filled with NaN before each run, and each step is checked for writing past their end.
        """
        from dinoml.runtime.session import Session

        native = self._open()
        if threads is not None and threads < 1:
            raise errors.ArgumentError(f"threads is {threads}, expected at least 1, or None for one per physical core")
        session = Session(self, _native.Session(native, threads or 0, debug))
        with self._lock:
            self._sessions.add(session)
        return session

    def set_constants(self, values: Mapping[str, Any]) -> None:
        """Replace source constants and recompute what is stored from them; raise, with nothing changed, when any is refused.

        Takes NumPy arrays or anything with `__dlpack__`. Waits for runs in progress; later runs of all sessions see the new values.
        """
        self._open().set_constants(dict(values))

    def set_constant_numpy(self, name: str, array: Any) -> None:
        """Replace one source constant."""
        self.set_constants({name: array})

    def load_constants(self) -> None:
        """Check and map constants.safetensors; replaced values are dropped."""
        self._open().load_constants()

    def unload_constants(self) -> None:
        """Give the constants' memory back; runs fail until they are loaded or set."""
        self._open().unload_constants()

    def constant_load_state(self) -> dict[str, bool]:
        """Return for each source constant whether what depends on it has a value."""
        native = self._open()
        return {name: native.constant_loaded(i) for i, name in enumerate(self.constants)}

    def is_constant_loaded(self, name: str) -> bool:
        """Return whether a source constant has a value; raise UnknownNameError."""
        if name not in self.constants:
            raise errors.UnknownNameError(f"there is no constant {name!r} in module {self.name!r}")
        return self.constant_load_state()[name]

    def close(self) -> None:
        """Close the sessions, then the module; raise BusyError while one of them runs. Closing twice does nothing."""
        if self._closed:
            return
        with self._lock:
            for session in list(self._sessions):
                session.close()
            self._native.close()
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<dinoml.runtime.Module {self.name!r} at {str(self.path)!r}{', closed' if self._closed else ''}>"
