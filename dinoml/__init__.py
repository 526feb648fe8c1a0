"""DinoML: define a model in Python, trace it, compile it to a standalone artifact, run it without Python's model."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Dim": "dinoml.ir.shapes",
    "Tensor": "dinoml.operators.value",
    "OperatorError": "dinoml.operators.call",
    "TensorSpec": "dinoml.frontend.model",
    "Parameter": "dinoml.frontend.model",
    "Module": "dinoml.frontend.model",
    "MaterializedConstant": "dinoml.frontend.model",
    "ModelSpec": "dinoml.frontend.modelspec",
    "trace": "dinoml.frontend.tracing",
    "state": "dinoml.frontend.tracing",
    "compile": "dinoml.compiler",
    "Artifact": "dinoml.compiler",
    "Target": "dinoml.targets",
}
_MODULES = ("frontend", "ir", "nn", "operators", "ops", "runtime")
__all__ = [
    "Artifact", "Dim", "MaterializedConstant", "ModelSpec", "Module", "OperatorError", "Parameter", "Target", "Tensor", "TensorSpec", "compile",
    "nn", "ops", "state", "trace",
]  # fmt: skip

if TYPE_CHECKING:
    from dinoml import nn, ops
    from dinoml.compiler import Artifact, compile
    from dinoml.frontend.model import MaterializedConstant, Module, Parameter, TensorSpec
    from dinoml.frontend.modelspec import ModelSpec
    from dinoml.frontend.tracing import state, trace
    from dinoml.ir.shapes import Dim
    from dinoml.operators.call import OperatorError
    from dinoml.operators.value import Tensor
    from dinoml.targets import Target


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"dinoml.{name}")
    else:
        raise AttributeError(f"module 'dinoml' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
