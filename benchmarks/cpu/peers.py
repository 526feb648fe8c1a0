"""The peers of a user: onnxruntime, OpenVINO held to float32, PyTorch eager, torch.compile and AOTInductor with freezing.

Each builder takes (module, example inputs by name, threads) and returns a callable on NumPy or torch inputs, prepared outside
of the timing. A peer that is not installed is reported by name, never silently left out.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[Mapping[str, np.ndarray]], Any]
NAMES = ("torch", "torch.compile", "AOTInductor", "onnxruntime", "OpenVINO f32")
_NEEDS = {
    "torch": ("torch",),
    "torch.compile": ("torch",),
    "AOTInductor": ("torch",),
    "onnxruntime": ("torch", "onnx", "onnxruntime"),
    "OpenVINO f32": ("torch", "onnx", "openvino"),
}


def missing(name: str) -> list[str]:
    """Return the packages a peer needs and that are not installed."""
    return [p for p in _NEEDS[name] if importlib.util.find_spec(p) is None]


def build(name: str, module: Any, example: Mapping[str, np.ndarray], threads: int) -> Run:
    """Return a peer's runner for a torch module whose forward takes the inputs in the order of `example`."""
    return {
        "torch": _eager, "torch.compile": _compiled, "AOTInductor": _aot, "onnxruntime": _onnxruntime, "OpenVINO f32": _openvino,
    }[name](module, example, threads)  # fmt: skip


def _torch(threads: int) -> Any:
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    torch.set_float32_matmul_precision("medium")  # the faster setting on AMD CPUs, at float32-level error there
    return torch


def _args(torch: Any, inputs: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(a) for a in inputs.values())


def _eager(module: Any, example: Mapping[str, np.ndarray], threads: int) -> Run:
    torch = _torch(threads)
    return lambda inputs: module(*_args(torch, inputs))


def _compiled(module: Any, example: Mapping[str, np.ndarray], threads: int) -> Run:
    torch = _torch(threads)
    import torch._inductor.config as config

    config.freezing = True
    fast = torch.compile(module)
    return lambda inputs: fast(*_args(torch, inputs))


def _aot(module: Any, example: Mapping[str, np.ndarray], threads: int) -> Run:
    torch = _torch(threads)
    exported = torch.export.export(module, _args(torch, example))
    path = os.path.join(tempfile.mkdtemp(), "m.pt2")
    package = torch._inductor.aoti_compile_and_package(exported, package_path=path, inductor_configs={"freezing": True})
    loaded = torch._inductor.aoti_load_package(package)
    return lambda inputs: loaded(*_args(torch, inputs))


def onnx_file(module: Any, example: Mapping[str, np.ndarray]) -> Path:
    """Return an ONNX file of the module for the example's shapes."""
    import torch

    path = Path(tempfile.mkdtemp()) / "m.onnx"
    torch.onnx.export(module, tuple(torch.from_numpy(a) for a in example.values()), str(path), input_names=list(example), dynamo=True, verbose=False)
    return path


def _onnxruntime(module: Any, example: Mapping[str, np.ndarray], threads: int) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = ort.InferenceSession(str(onnx_file(module, example)), options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, dict(inputs))


def _openvino(module: Any, example: Mapping[str, np.ndarray], threads: int) -> Run:
    import openvino as ov

    core = ov.Core()
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    model = core.compile_model(core.read_model(str(onnx_file(module, example))), "CPU", config)
    request = model.create_infer_request()

    def run(inputs: Mapping[str, np.ndarray]) -> Any:
        return request.infer(dict(inputs), share_inputs=True)

    return run
