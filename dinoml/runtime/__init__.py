"""Loading and running artifacts.

    from dinoml import runtime

    module = runtime.load("build/linear_cpu.dinoml")
    session = module.create_session()
    outputs = session.run_numpy({"x": array})

A `Module` may be shared by threads; a `Session` serves one thread at a time. Both close with `close()`, at the end of a `with`
block, or when nobody refers to them any more.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dinoml.runtime.benchmark import BenchmarkResult, KernelTime
    from dinoml.runtime.errors import DinoMLError
    from dinoml.runtime.module import DimInfo, Module, StepInfo, TensorInfo, load
    from dinoml.runtime.session import Session, TraceEvent

_HOMES = {
    "load": "module", "Module": "module", "TensorInfo": "module", "DimInfo": "module", "StepInfo": "module", "Session": "session",
    "TraceEvent": "session", "BenchmarkResult": "benchmark", "KernelTime": "benchmark", "DinoMLError": "errors",
}  # fmt: skip
_MODULES = ("benchmark", "errors", "module", "session")

__all__ = ["BenchmarkResult", "DimInfo", "DinoMLError", "KernelTime", "Module", "Session", "StepInfo", "TensorInfo", "TraceEvent", "load"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"dinoml.runtime.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"dinoml.runtime.{name}")
    else:
        raise AttributeError(f"module 'dinoml.runtime' has no attribute {name!r}")
    globals()[name] = value
    return value
