"""The kernels of the GPU slice: models to trace, and what they compute, in NumPy and float64.

The same list is compiled for every arch (test_gpu_slice.py), built into a library (build_slice.py) and run on a device
(run_slice.py). Shapes are primes or sit beside tile sizes; the large ones are timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dinoml.ir import dtypes

Array = np.ndarray[Any, Any]
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Input:
    """Shape (ints, or names of dims) and dtype of an input; `low`, `high`: range of the random values, whole numbers where `whole`."""

    shape: tuple[int | str, ...]
    dtype: str = "bfloat16"
    low: float = -3.0
    high: float = 3.0
    whole: bool = False


@dataclass(frozen=True)
class Case:
    """One model. `model` gets tensors by name; `reference` float64 arrays and the storage dtype, and returns outputs by name."""

    name: str
    model: Callable[..., Any]
    reference: Callable[..., dict[str, Array]]
    inputs: Mapping[str, Input]
    constants: Mapping[str, Input] = field(default_factory=dict)  # arguments of the model that are stored weights
    dims: tuple[Mapping[str, int], ...] = ({},)  # where it runs
    limits: Mapping[str, int] = field(default_factory=dict)  # largest value of each dim
    timed: bool = False
    reduction: int = 0
    flops: float = 0.0
    limit: float | None = None  # of the comparator, where the operator's spec has its own
    specials: bool = False  # puts NaN and infinities into the first input
    reports: bool = False  # sets the error word

    @property
    def storage(self) -> str:
        return next(iter(self.inputs.values())).dtype

    def shape(self, item: Input, dims: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(dims[e] if isinstance(e, str) else e for e in item.shape)


def rounded(x: Array, dtype: str) -> Array:
    """Return x after it was stored."""
    return x.astype(dtypes.numpy_dtype(dtype)).astype(np.float64)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def erf(x: Array) -> Array:
    import math

    return np.vectorize(math.erf, otypes=[np.float64])(x)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def softmax_of(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


# ---------------------------------------------------------------------------------------------------------------- pointwise
def chain(x, scale, bias):  # type: ignore[no-untyped-def]
    from dinoml import ops

    f = ops.cast(x, "float32")
    return ops.cast(ops.relu(f * scale + bias - ops.sigmoid(f)) * 0.5, x.dtype)


def chain_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    return {"output_0": np.maximum(a["x"] * a["scale"] + a["bias"] - sigmoid(a["x"]), 0) * 0.5}


def _chain(rows: int, columns: int, dtype: str = "bfloat16", timed: bool = False) -> Case:
    inputs = {"x": Input((rows, columns), dtype), "scale": Input((columns,), "float32"), "bias": Input((columns,), "float32")}
    return Case(f"chain_{dtype}_{rows}x{columns}", chain, chain_reference, inputs, timed=timed)


def exact_gelu(x):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.gelu(x, approximation="none")


def permuted(x, y, z):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.permute(x, (1, 0, 2)) * y + z


def integers(x, y):  # type: ignore[no-untyped-def]
    from dinoml import ops

    positive = x > y
    return {"value": ops.where(positive, x % y, x // y) + x * y, "positive": positive}


def integers_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    x, y = a["x"].astype(np.int64), a["y"].astype(np.int64)
    by = np.where(y == 0, 1, y)
    chosen = np.where(x > y, np.mod(x, by), np.floor_divide(x, by))
    return {"value": np.where(y == 0, 0, chosen) + x * y, "positive": x > y}


def embedding(ids, table):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.embedding(table, ids) * 2.0


def embedding_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    """An index outside the table is reported, and reads the nearest row."""
    return {"output_0": a["table"][np.clip(a["ids"].astype(np.int64), 0, len(a["table"]) - 1)] * 2}


def _embedding(high: int) -> Case:
    inputs = {"table": Input((101, 40)), "ids": Input((3, 7), "int64", 0, high, True)}
    return Case(f"embedding_{high}", embedding, embedding_reference, inputs, reports=high > 101)


# ---------------------------------------------------------------------------------------------------------------- rows
def add_rms(x, r, w):  # type: ignore[no-untyped-def]
    from dinoml import ops

    h = x + r
    return {"h": h, "y": ops.rms_norm(h, w)}


def add_rms_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    h = rounded(a["x"] + a["r"], dtype)
    return {"h": a["x"] + a["r"], "y": h / np.sqrt((h * h).mean(-1, keepdims=True) + 1e-6) * a["w"]}


def _add_rms(rows: int, columns: int, dtype: str = "bfloat16", timed: bool = False) -> Case:
    inputs = {"x": Input((rows, columns), dtype), "r": Input((rows, columns), dtype), "w": Input((columns,), dtype)}
    return Case(f"add_rms_{dtype}_{rows}x{columns}", add_rms, add_rms_reference, inputs, timed=timed, reduction=columns)


def layer_norm(x, w, b):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.layer_norm(ops.relu(x), w, b)


def layer_norm_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    x = np.maximum(a["x"], 0)
    x = x - x.mean(-1, keepdims=True)
    return {"output_0": x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * a["w"] + a["b"]}


def _layer_norm(rows: int, columns: int, dtype: str = "bfloat16", timed: bool = False, low: float = -3.0, high: float = 3.0) -> Case:
    inputs = {"x": Input((rows, columns), dtype, low, high), "w": Input((columns,), dtype), "b": Input((columns,), dtype)}
    return Case(f"layer_norm_{dtype}_{rows}x{columns}", layer_norm, layer_norm_reference, inputs, timed=timed, reduction=columns)


def rms_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    return {"output_0": a["x"] / np.sqrt((a["x"] ** 2).mean(-1, keepdims=True) + 1e-6)}


def rms(x):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.rms_norm(x)


def standardize_columns(x):  # type: ignore[no-untyped-def]
    from dinoml.operators.build import current

    return current.get().standardize(x, dim=1, eps=1e-5)  # type: ignore[union-attr]


def standardize_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    return {"output_0": (a["x"] - a["x"].mean(1, keepdims=True)) / np.sqrt(a["x"].var(1, keepdims=True) + 1e-5)}


def softmax(x):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.softmax(x)


def softmax_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    return {"output_0": softmax_of(a["x"])}


def masked_softmax(x, mask):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.softmax(ops.where(mask, x * 0.125, float("-inf")))


def _softmax(rows: int, columns: int, dtype: str = "bfloat16", timed: bool = False, specials: bool = False) -> Case:
    name = f"softmax_{dtype}_{rows}x{columns}" + ("_specials" if specials else "")
    return Case(name, softmax, softmax_reference, {"x": Input((rows, columns), dtype)}, timed=timed, reduction=columns, specials=specials)


def columns_of(op: str) -> Callable[..., Any]:
    def model(x):  # type: ignore[no-untyped-def]
        from dinoml import ops

        return getattr(ops, op)(x, dim=1)

    return model


def log_softmax(x):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.log_softmax(x)


# ---------------------------------------------------------------------------------------------------------------- gemm
def linear(x, w, b, r):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.gelu(ops.linear(x, w, b)) * r


def linear_reference(a: Arrays, dtype: str) -> dict[str, Array]:
    return {"output_0": gelu(a["x"] @ a["w"].T + a["b"]) * a["r"]}


def _linear(m: int, n: int, k: int, dtype: str = "bfloat16", timed: bool = False, stored: bool = False) -> Case:
    inputs = {"x": Input((m, k), dtype, -1, 1), "b": Input((n,), dtype, -1, 1), "r": Input((m, n), dtype, 0.5, 1.5)}
    weight = {"w": Input((n, k), dtype, -1, 1)}
    name = f"linear_{dtype}_{m}x{n}x{k}" + ("_stored" if stored else "")
    return Case(
        name, linear, linear_reference, inputs if stored else {**inputs, **weight}, weight if stored else {}, timed=timed, reduction=k,
        flops=2.0 * m * n * k,
    )  # fmt: skip


def matmul(a, b):  # type: ignore[no-untyped-def]
    from dinoml import ops

    return ops.matmul(a, b)


def _matmul(a: tuple[int, ...], b: tuple[int, ...], dtype: str, whole: bool = False) -> Case:
    low, high = (-4, 5) if whole else (-1, 1)
    inputs = {"a": Input(a, dtype, low, high, whole), "b": Input(b, dtype, low, high, whole)}
    name = f"matmul_{dtype}_{'x'.join(map(str, a))}_{'x'.join(map(str, b))}" + ("_whole" if whole else "")
    return Case(name, matmul, lambda t, _: {"output_0": t["a"] @ t["b"]}, inputs, reduction=a[-1])


ROWS, COLUMNS = 32768, 4096
CASES: tuple[Case, ...] = (
    _chain(ROWS, COLUMNS, timed=True),
    _chain(ROWS, 4000, timed=True), _chain(ROWS, 4001, timed=True),
    _chain(33, 1000), _chain(33, 1001), _chain(1, 7), _chain(67, 96, "float16"), _chain(129, 36, "float32"),
    Case("exact_gelu", exact_gelu, lambda a, _: {"output_0": 0.5 * a["x"] * (1 + erf(a["x"] * np.sqrt(0.5)))},
         {"x": Input(("n",), "float32", -6, 6)}, dims=({"n": 1}, {"n": 4096}, {"n": 100003}), limits={"n": 1 << 20}, limit=6),
    Case("permuted", permuted, lambda a, _: {"output_0": a["x"].transpose(1, 0, 2) * a["y"] + a["z"]},
         {"x": Input((3, 17, 40), "float16"), "y": Input((17, 3, 40), "float16"), "z": Input((3, 1), "float16")}),
    Case("integers", integers, integers_reference, {"x": Input((129, 33), "int64", -100, 100, True), "y": Input((129, 33), "int64", -9, 10, True)}),
    _embedding(101), _embedding(150),
    _add_rms(ROWS, COLUMNS, timed=True),
    _add_rms(33, 1000), _add_rms(33, 1001), _add_rms(35, 12), _add_rms(67, 64, "float16"), _add_rms(5, 2052, "float32"),
    _layer_norm(ROWS, COLUMNS, timed=True),
    _layer_norm(33, 1001), _layer_norm(35, 36, "float32", low=999, high=1001), _layer_norm(9, 100003), _layer_norm(5, 33000, "float16"),
    Case("rms_dynamic", rms, rms_reference, {"x": Input(("r", "c"))}, limits={"r": 4096, "c": 100000},
         dims=({"r": 3, "c": 5}, {"r": 97, "c": 1000}, {"r": 31, "c": 9999}, {"r": 2, "c": 50000})),
    Case("standardize_columns", standardize_columns, standardize_reference, {"x": Input((3, 50, 70), "float32")}, reduction=50),
    _softmax(ROWS, COLUMNS, timed=True),
    _softmax(ROWS, 4000, timed=True), _softmax(ROWS, 4001, timed=True),
    _softmax(33, 1000), _softmax(33, 1001), _softmax(35, 12), _softmax(7, 40000), _softmax(67, 260, "float32"), _softmax(9, 64, specials=True),
    Case("masked_softmax", masked_softmax, lambda a, _: {"output_0": softmax_of(np.where(a["mask"] != 0, a["x"] * 0.125, -np.inf))},
         {"x": Input((65, 200), "float16", -30, 30), "mask": Input((65, 200), "bool", 0, 2, True)}, reduction=200),
    Case("softmax_columns", columns_of("softmax"), lambda a, _: {"output_0": softmax_of(a["x"], 1)}, {"x": Input((5, 300, 33))}, reduction=300),
    Case("log_softmax", log_softmax, lambda a, _: {"output_0": np.log(softmax_of(a["x"]))},
         {"x": Input((33, 1000), "float32", -9, 9)}, reduction=1000),
    _linear(4096, 4096, 4096, timed=True),
    _linear(1024, 768, 768, timed=True),
    _linear(37, 41, 1030), _linear(33, 65, 129, "float32"), _linear(65, 200, 136, "float16"), _linear(70, 44, 1024, stored=True),
    _matmul((65, 48), (48, 72), "float16"), _matmul((2, 3, 5, 7), (3, 7, 4), "float32"),
    _matmul((130, 1100), (1100, 66), "bfloat16", whole=True), _matmul((129, 1025), (1025, 257), "float32", whole=True),
)  # fmt: skip
