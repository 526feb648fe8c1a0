"""Linear, embedding and shape modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dinoml import ops
from dinoml.frontend.model import Module, Parameter


class Linear(Module):
    """x @ weight.T + bias. `specialization` names an epilogue of gemm_rcr_bias_<…>; its residuals are further arguments of forward."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: str = "float32", specialization: str | None = None) -> None:
        if specialization and not bias:
            raise ValueError(f"Linear: specialization={specialization!r} needs bias=True")
        self.weight = Parameter([out_features, in_features], dtype)
        self.bias = Parameter([out_features], dtype) if bias else None
        self.specialization = specialization

    def forward(self, x: Any, *residuals: Any) -> Any:
        if self.specialization:
            return getattr(ops, f"gemm_rcr_bias_{self.specialization}")(x, self.weight, self.bias, *residuals)
        return ops.linear(x, self.weight, self.bias)


class Embedding(Module):
    """Rows of a table."""

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: str = "float32") -> None:
        self.weight = Parameter([num_embeddings, embedding_dim], dtype)

    def forward(self, indices: Any) -> Any:
        return ops.embedding(self.weight, indices)


class Identity(Module):
    """x itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def forward(self, x: Any) -> Any:
        return x


class Dropout(Identity):
    """x itself: models are compiled for inference."""


class Flatten(Module):
    """Neighbouring axes merged, all but the first by default."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Any) -> Any:
        return ops.flatten(x, self.start_dim, self.end_dim)


class Unflatten(Module):
    """One axis split into several."""

    def __init__(self, dim: int, sizes: Sequence[Any]) -> None:
        self.dim, self.sizes = dim, tuple(sizes)

    def forward(self, x: Any) -> Any:
        return ops.unflatten(x, self.dim, self.sizes)
