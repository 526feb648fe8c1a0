"""What is compared: models, products with constant weights, memory-bound operators; each once for DinoML and once for torch."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dinoml as dml
from dinoml import ops, runtime

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Case:
    """One comparison. `inputs(i)` gives the i-th set of inputs; `bytes_moved` and `flops` relate times to the ceilings."""

    group: str
    name: str
    session: Callable[[int], Any]
    module: Callable[[], Any]
    inputs: Callable[[int], Mapping[str, np.ndarray]]
    sets: int = 1
    bytes_moved: int = 0
    flops: float = 0.0
    outputs: Callable[[], list[np.ndarray]] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@cache
def minilm() -> Any:
    """Return examples/minilm.py as a module."""
    found = importlib.util.spec_from_file_location("bench_minilm", EXAMPLES / "minilm.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


@cache
def _artifact(name: str, spec: Callable[[], dml.ModelSpec]) -> Any:
    out = Path(tempfile.mkdtemp(prefix="dinoml-bench-")) / f"{name}.dinoml"
    return runtime.load(dml.compile(spec(), "cpu", out).path)


def _session(name: str, spec: Callable[[], dml.ModelSpec]) -> Callable[[int], Any]:
    return lambda threads: _artifact(name, spec).create_session(threads=threads)


def _torch_minilm() -> Any:
    import torch
    import torch.nn.functional as F

    m = minilm()

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = {k: torch.nn.Parameter(torch.from_numpy(v.copy()), requires_grad=False) for k, v in m.weights().items()}
            for k, v in self.w.items():
                self.register_parameter(k.replace(".", "_"), v)

        def forward(self, ids: Any, attention_mask: Any) -> Any:
            w, mask = self.w, attention_mask.bool()
            batch, seq = ids.shape

            def dense(x: Any, at: str) -> Any:
                return F.linear(x, w[f"{at}.weight"], w[f"{at}.bias"])

            def norm(x: Any, at: str) -> Any:
                return F.layer_norm(x, (m.WIDTH,), w[f"{at}.weight"], w[f"{at}.bias"], m.EPS)

            x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
            x = norm(x + w["embeddings.position_embeddings.weight"][:seq], "embeddings.LayerNorm")
            for i in range(m.LAYERS):
                at = f"encoder.layer.{i}"
                q, k, v = (dense(x, f"{at}.attention.self.{n}").view(batch, seq, m.HEADS, -1).transpose(1, 2) for n in ("query", "key", "value"))
                y = F.scaled_dot_product_attention(q, k, v, mask[:, None, None, :]).transpose(1, 2).reshape(batch, seq, m.WIDTH)
                x = norm(dense(y, f"{at}.attention.output.dense") + x, f"{at}.attention.output.LayerNorm")
                x = norm(dense(F.gelu(dense(x, f"{at}.intermediate.dense")), f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
            kept = mask.unsqueeze(-1).to(x.dtype)
            return F.normalize((x * kept).sum(1) / kept.sum(1).clamp(min=1e-9))

    return Model().eval()


def models() -> Iterator[Case]:
    """Yield MiniLM at three sizes."""
    for batch, seq in ((1, 16), (1, 128), (8, 128)):
        rng = np.random.default_rng(0)
        feed = {"input_ids": rng.integers(1000, 30000, (batch, seq)), "attention_mask": np.ones((batch, seq), np.int64)}
        tokens = batch * seq
        flops = 6 * (2 * tokens * (384 * 1152 + 384 * 384 + 2 * 384 * 1536) + 4 * batch * 12 * seq * seq * 32)
        yield Case("model", f"MiniLM {batch} x {seq}", _session("minilm", minilm().build_spec), _torch_minilm, lambda i, f=feed: f, flops=flops)


@cache
def _linear(n: int, k: int, rows: int) -> Any:
    class Linear(dml.Module):
        def __init__(self) -> None:
            self.weight = dml.Parameter([n, k])

        def forward(self, x: dml.Tensor) -> dml.Tensor:
            return ops.output(ops.linear(x, self.weight), "y")

    weight = np.random.default_rng(1).standard_normal((n, k), np.float32) / np.float32(k**0.5)
    return lambda: dml.trace(Linear(), inputs={"x": dml.TensorSpec([rows, k])}, constants={"weight": weight}, name=f"linear_{rows}_{n}_{k}"), weight


GEMM = ((512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (128, 1536, 384), (128, 384, 1536), (1, 768, 768), (4, 768, 768), (16, 768, 768),
        (1, 3072, 3072), (4, 3072, 3072), (16, 3072, 3072))  # fmt: skip


def products() -> Iterator[Case]:
    """Yield float32 products with constant weights."""
    for m, n, k in GEMM:
        spec, weight = _linear(n, k, m)

        def module(w: np.ndarray = weight) -> Any:
            import torch

            linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
            linear.weight = torch.nn.Parameter(torch.from_numpy(w.copy()), requires_grad=False)
            return linear

        x = {"x": np.random.default_rng(2).standard_normal((m, k), np.float32)}
        yield Case("gemm", f"{m} x {n} x {k}", _session(f"linear_{m}_{n}_{k}", spec), module, lambda i, x=x: x, flops=2.0 * m * n * k,
                   outputs=lambda m=m, n=n: [np.empty((m, n), np.float32)], extra={"m": m, "weight_bytes": 4 * n * k})  # fmt: skip


def _torch_ops() -> dict[str, Callable[[], Any]]:
    import torch
    import torch.nn.functional as F

    class Chain(torch.nn.Module):
        def forward(self, x: Any, s: Any, b: Any) -> Any:
            return torch.relu(x * s + b - torch.sigmoid(x)) * 0.5

    class Softmax(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.softmax(x, -1)

    class Norm(torch.nn.Module):
        def forward(self, x: Any, w: Any, b: Any) -> Any:
            return F.layer_norm(x, (x.shape[-1],), w, b)

    class Gelu(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return F.gelu(x)

    return {"chain": Chain, "softmax": Softmax, "layer norm": Norm, "gelu": Gelu}


_OPS: dict[str, tuple[tuple[int, int], Callable[..., Any], int]] = {
    "chain": ((4096, 1024), lambda x, s, b: ops.relu(x * s + b - ops.sigmoid(x)) * 0.5, 2),
    "softmax": ((4096, 1024), lambda x: ops.softmax(x), 0),
    "layer norm": ((4096, 768), lambda x, w, b: ops.layer_norm(x, w, b), 2),
    "gelu": ((4096, 1024), lambda x: ops.gelu(x, approximation="none"), 0),
}


def memory_bound(last_level_bytes: int) -> Iterator[Case]:
    """Yield operators bound by memory, on buffers that rotate over more than four times the last-level cache."""
    for name, (shape, fn, vectors) in _OPS.items():
        names = ["x", "s", "b"][: 1 + vectors]
        specs = {n: dml.TensorSpec(shape if n == "x" else shape[1:]) for n in names}
        nbytes = 4 * shape[0] * shape[1]
        sets = max(2, -(-4 * last_level_bytes // (2 * nbytes)) + 1)
        rng = np.random.default_rng(3)
        vector = {n: rng.standard_normal(shape[1], np.float32) for n in names[1:]}
        data = [{"x": rng.standard_normal(shape, np.float32), **vector} for _ in range(sets)]
        outs = [np.empty(shape, np.float32) for _ in range(sets)]
        label = name.replace(" ", "_")

        def spec(fn: Any = fn, specs: Any = specs, label: str = label) -> dml.ModelSpec:
            return dml.trace(lambda **t: ops.output(fn(*t.values()), "y"), inputs=specs, name=label)

        yield Case("memory", f"{name} {shape[0]} x {shape[1]}", _session(label, spec), lambda name=name: _torch_ops()[name](),
                   lambda i, d=data: d[i % len(d)], sets=sets, bytes_moved=2 * nbytes, outputs=lambda o=outs: o)  # fmt: skip
