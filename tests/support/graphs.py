"""Random models: DAGs over pointwise, view, reduction, normalisation, product and lookup operators with symbolic dims.

`random_sample(seed)` is a function of its arguments alone, so that a seed reproduces a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dinoml import Dim, Parameter, TensorSpec, ops
from dinoml.ir import intexpr
from dinoml.operators.value import Tensor
from support.samples import Sample, Tolerance

BATCH, LENGTH = Dim("batch", min=0, max=4), Dim("length", min=1, max=9)
WIDTH, HEADS, TABLE = 12, 3, 7
ROWS = 8  # the batch of what has none: never one of the other extents
MAX_ELEMENTS = 4000


@dataclass(frozen=True)
class Kind:
    """What may occur: families of operators, the dtype of inputs, how many operators."""

    families: tuple[str, ...] = (
        "unary",
        "binary",
        "choice",
        "view",
        "join",
        "reduce",
        "row",
        "product",
        "lookup",
        "half",
        "position",
        "logic",
        "kernel",
    )
    dtype: str = "float32"
    size: tuple[int, int] = (2, 18)
    empty: bool = True  # whether the batch may be empty


EVERYTHING = Kind()
CONTINUOUS = Kind(families=("unary", "binary", "view", "join", "reduce", "row", "product", "lookup"), empty=False)  # no jump makes rounding visible
HALF = Kind(families=("unary", "binary", "view", "join", "row", "product"), dtype="bfloat16", size=(2, 8), empty=False)
POINTWISE = Kind(families=("unary", "binary", "choice", "expand"), size=(3, 16), empty=False)


class Grower:
    """Grows a graph operator by operator on symbolic tensors."""

    def __init__(self, rng: np.random.Generator, kind: Kind, inputs: dict[str, Tensor], ids: Tensor | None) -> None:
        self.rng, self.kind, self.ids = rng, kind, ids
        self.pool: list[Tensor] = list(inputs.values())
        self.steps: dict[str, Callable[[Tensor], Tensor | None]] = {
            "unary": self.unary, "binary": self.binary, "choice": self.choice, "view": self.view, "join": self.join, "reduce": self.reduce,
            "row": self.row, "product": self.product, "lookup": self.lookup, "half": self.half, "position": self.position, "expand": self.expand,
            "logic": self.logic, "kernel": self.kernel,
        }  # fmt: skip

    def pick(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def operand(self) -> Tensor:
        """Return a value, recent ones more often."""
        n = len(self.pool)
        return self.pool[n - 1 - min(int(self.rng.geometric(0.35)) - 1, n - 1)]

    def grow(self) -> None:
        """Add one operator."""
        for _ in range(20):
            out = self.steps[self.pick(self.kind.families)](self.operand())
            if out is not None and _size(out) <= MAX_ELEMENTS:
                self.pool.append(out)
                return

    # -- steps: None where one does not apply --------------------------------------------------------------------------
    def unary(self, x: Tensor) -> Tensor:
        a, b = round(float(self.rng.uniform(-1.5, 1.5)), 3), round(float(self.rng.uniform(-1, 1)), 3)
        return self.pick([
            lambda: ops.relu(x), lambda: ops.sigmoid(x), lambda: ops.tanh(x), lambda: ops.exp(-ops.abs(x)), lambda: x * a + b, lambda: b - x,
            lambda: ops.gelu(x), lambda: x * ops.sigmoid(x), lambda: ops.sqrt(ops.abs(x) + 1.0), lambda: 1.0 / (1.0 + x * x),
            lambda: ops.clamp(x, -1.0, 1.5), lambda: ops.sin(x) + x, lambda: ops.abs(x), lambda: ops.softplus(x), lambda: ops.erf(x),
        ])()  # fmt: skip

    def partner(self, x: Tensor) -> Tensor:
        """Return a value that broadcasts with x."""
        fits = [v for v in self.pool if v.dtype == x.dtype and _broadcasts(v, x)]
        return self.pick(fits)

    def binary(self, x: Tensor) -> Tensor:
        y = self.partner(x)
        if self.chance(0.5):
            x, y = y, x
        return self.pick([
            lambda: x + y, lambda: x - y, lambda: x * y * 0.5, lambda: ops.max(x, y), lambda: ops.min(x, y), lambda: x / (1.0 + ops.abs(y)),
            lambda: y + ops.relu(x),
        ])()  # fmt: skip

    def choice(self, x: Tensor) -> Tensor:
        y = self.partner(x)
        z = self.partner(x) if y.shape == x.shape else self.pick([x, y])
        return self.pick(
            [
                lambda: ops.where(x > y, x, z),
                lambda: ops.where(y <= 0.1, x * 2.0, y),
                lambda: ops.floor(x * 4.0) * 0.25,
                lambda: ops.masked_fill(x, x < y, 0.5),
            ]
        )()

    def view(self, x: Tensor) -> Tensor | None:
        if x.rank == 0:
            return ops.unsqueeze(x, 0)
        axis = int(self.rng.integers(x.rank))
        makers = [
            lambda: ops.permute(x, tuple(int(i) for i in self.rng.permutation(x.rank))),
            lambda: ops.unsqueeze(x, int(self.rng.integers(x.rank + 1))) if x.rank < 4 else None,
            lambda: ops.flip(x, dims=(axis,)),
            lambda: self.sliced(x, axis),
            lambda: ops.reshape(x, self.reshaped(x)),
            lambda: self.padded(x),
            lambda: ops.roll(x, 2, dims=axis) if isinstance(x.shape[axis], int) and x.shape[axis] else None,
            lambda: ops.tril(x) if x.rank >= 2 else None,
            lambda: self.expand(x),
            lambda: ops.repeat_interleave(x, 2, dim=axis) if isinstance(x.shape[axis], int) else None,
        ]
        return self.pick(makers)()

    def sliced(self, x: Tensor, axis: int) -> Tensor | None:
        n = x.shape[axis]
        if not isinstance(n, int) or n < 2:
            items = [slice(None)] * axis + [slice(None, None, -1)]
            return x[tuple(items)]
        start = int(self.rng.integers(n - 1))
        step = self.pick([1, 1, 2, -1])
        piece = slice(start, None, step) if step > 0 else slice(None, None, -1)
        if self.chance(0.2):
            return x[tuple([slice(None)] * axis + [start])]
        return x[tuple([slice(None)] * axis + [piece])]

    def reshaped(self, x: Tensor) -> tuple[Any, ...]:
        """Return another shape of as many elements: axes merged, the last one split."""
        shape = list(x.shape)
        if len(shape) > 1 and self.chance(0.5):
            i = int(self.rng.integers(len(shape) - 1))
            shape[i : i + 2] = [shape[i] * shape[i + 1]]
        last = shape[-1]
        if isinstance(last, int) and last % HEADS == 0 and last > HEADS and len(shape) < 4 and self.chance(0.5):
            shape[-1:] = [HEADS, last // HEADS] if self.chance(0.5) else [last // HEADS, HEADS]
        return tuple(shape)

    def padded(self, x: Tensor) -> Tensor:
        pads: list[int] = []
        for _ in range(min(x.rank, int(self.rng.integers(1, 3)))):
            pads += [int(p) for p in self.rng.integers(0, 3, 2)]
        return ops.pad(x, tuple(pads), value=self.pick([0.0, 0.5]))

    def expand(self, x: Tensor) -> Tensor | None:
        if x.rank >= 4:
            return None
        return ops.expand(x, (self.pick([2, LENGTH, BATCH]), *x.shape)) if self.kind.empty or self.chance(0.5) else ops.expand(x, (2, *x.shape))

    def join(self, x: Tensor) -> Tensor | None:
        same = [v for v in self.pool if v.dtype == x.dtype and v.shape == x.shape]
        others = [self.pick(same) for _ in range(int(self.rng.integers(1, 3)))]
        if self.chance(0.3) and x.rank < 4:
            return ops.stack([x, *others], dim=int(self.rng.integers(x.rank + 1)))
        return ops.concatenate([x, *others], dim=int(self.rng.integers(x.rank))) if x.rank else None

    def reduce(self, x: Tensor) -> Tensor | None:
        if x.rank == 0:
            return None
        axes = tuple(sorted({int(a) for a in self.rng.integers(0, x.rank, int(self.rng.integers(1, 3)))}))
        keep = self.chance(0.5)
        name = self.pick(["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "var"])
        if name != "reduce_sum" and any(_lowest(x.shape[a]) < 1 for a in axes):
            name = "reduce_sum"
        out = getattr(ops, name)(x, dim=axes, keepdim=keep)
        return out * 0.2 if name == "reduce_sum" else out

    def row(self, x: Tensor) -> Tensor | None:
        if x.rank == 0:
            return None
        axis = int(self.rng.integers(x.rank)) if self.chance(0.3) else x.rank - 1
        makers = [lambda: ops.softmax(x, dim=axis), lambda: ops.log_softmax(x, dim=axis) * 0.1]
        if isinstance(x.shape[-1], int) and x.shape[-1] > 2:
            n = x.shape[-1]
            makers += [
                lambda: ops.layer_norm(x, self.constant(n), self.constant(n), normalized_shape=(n,), eps=0.1),
                lambda: ops.rms_norm(x, eps=0.1),
            ]
        return self.pick(makers)()

    def constant(self, *shape: int) -> Parameter:
        array = self.rng.standard_normal(shape) * 0.5
        return Parameter(list(shape), self.kind.dtype, value=_stored(array, self.kind.dtype))

    def product(self, x: Tensor) -> Tensor | None:
        if x.rank < 2:
            return None
        k = x.shape[-1]
        same = [v for v in self.pool if v.rank == x.rank and v.dtype == x.dtype and v.shape[-1] == k and v.shape[:-2] == x.shape[:-2]]
        if isinstance(k, int) and self.chance(0.6):
            n = self.pick([4, 9, WIDTH])
            y = ops.linear(x, self.constant(n, k), self.constant(n)) if self.chance(0.5) else ops.gemm(x, self.constant(k, n))
        else:
            y = ops.gemm(x, self.pick(same), b_layout="c")
        return y * 0.25

    def lookup(self, x: Tensor) -> Tensor | None:
        if self.ids is None:
            return None
        if self.chance(0.5) or x.rank == 0 or not isinstance(x.shape[0], int) or x.shape[0] < 1:
            return ops.embedding(self.constant(TABLE, WIDTH), self.ids)
        return ops.index_select(x, 0, ops.remainder(ops.reshape(self.ids, (BATCH * LENGTH,)), x.shape[0]))

    def logic(self, x: Tensor) -> Tensor:
        """Return numbers made from masks and integers."""
        y = self.partner(x)
        return self.pick([
            lambda: ops.cast((x > 0.2) & (x < 1.0), x.dtype), lambda: ops.where((x > y) | (y > 0.0), x, 0.25),
            lambda: ops.cast(~(x <= y), x.dtype) + x, lambda: ops.cast(ops.cast(x * 10.0, "int32") % 4, x.dtype) * 0.25,
            lambda: ops.cast(ops.cast(x * 3.0, "int64") // 2, x.dtype) * 0.1,
        ])()  # fmt: skip

    def kernel(self, x: Tensor) -> Tensor | None:
        """Apply one of the rarer kernels where the shape allows it."""
        if x.rank and isinstance(x.shape[-1], int) and x.shape[-1] >= 3 and self.chance(0.4):
            return ops.topk(x, 2)[0]
        if x.rank != 4 or not isinstance(x.shape[1], int) or not x.shape[1] or not all(isinstance(e, int) and e >= 2 for e in x.shape[3:]):
            return ops.reshape(x, (1, 1, *x.shape)) if x.rank == 2 else ops.reshape(x, (1, *x.shape)) if x.rank == 3 else None
        if isinstance(x.shape[2], int) and x.shape[2] >= 2 and self.chance(0.6):
            weight = self.constant(4, x.shape[1], 2, 2)
            return self.pick(
                [lambda: ops.max_pool2d(x, 2, padding=1), lambda: ops.avg_pool2d(x, 2, 1), lambda: ops.conv2d(x, weight, padding=1) * 0.3]
            )()
        same = [v for v in self.pool if v.shape == x.shape and v.dtype == x.dtype]
        return ops.scaled_dot_product_attention(self.pick(same), x, self.pick(same), scale=0.3, causal=self.chance(0.3))

    def half(self, x: Tensor) -> Tensor:
        return ops.cast(ops.cast(x, self.pick(["float16", "bfloat16"])), x.dtype)

    def position(self, x: Tensor) -> Tensor | None:
        if x.rank == 0 or _lowest(x.shape[-1]) < 1:
            return None
        return ops.cast(ops.argmax(x, dim=-1, keepdim=self.chance(0.5)), x.dtype) * 0.1


def _stored(a: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    from dinoml.ir import dtypes

    return a.astype(dtypes.numpy_dtype(dtype))


def _size(x: Tensor) -> int:
    return int(intexpr.bounds(x.numel())[1])


def _lowest(extent: Any) -> int:
    return intexpr.bounds(extent)[0]


def _broadcasts(a: Tensor, b: Tensor) -> bool:
    pairs = zip(reversed(a.shape), reversed(b.shape))
    return all(x == y or x == 1 or y == 1 for x, y in pairs)


def random_sample(seed: int, kind: Kind = EVERYTHING) -> Sample:
    """Return the sample of a seed: a random model, inputs and run-time extents."""
    rng = np.random.default_rng([seed, 20])
    dims = {"batch": int(rng.choice([1, 2, 3, 4])), "length": int(rng.choice([1, 2, 5, 9]))}
    if kind.empty and rng.random() < 0.08:
        dims["batch"] = 0
    menu = [
        [BATCH, LENGTH, WIDTH],
        [BATCH, LENGTH],
        [WIDTH],
        [LENGTH, WIDTH],
        [BATCH, 1, WIDTH],
        [BATCH, LENGTH, 1],
        [ROWS, WIDTH],
        [BATCH, HEADS, LENGTH, 4],
        [],
    ]
    shapes = [menu[0], *(menu[int(i)] for i in rng.integers(0, len(menu), int(rng.integers(0, 3))))]
    specs = {f"x{i}": TensorSpec(s, kind.dtype) for i, s in enumerate(shapes)}
    if "lookup" in kind.families:
        specs["ids"] = TensorSpec([BATCH, LENGTH], "int64")
    arrays = {}
    for name, spec in specs.items():
        shape = [int(intexpr.evaluate(e, dims)) for e in spec.shape]
        arrays[name] = rng.integers(0, TABLE, shape) if spec.dtype == "int64" else _stored(rng.uniform(-2, 2, shape), kind.dtype)
    count = int(rng.integers(*kind.size))
    growth = int(rng.integers(1 << 30))

    def model(**tensors: Any) -> Any:
        ids = tensors.pop("ids", None)
        g = Grower(np.random.default_rng(growth), kind, tensors, ids)
        for _ in range(count):
            g.grow()
        made = g.pool[len(tensors) :]
        if not made:
            return {"y0": g.pool[0] * 2.0}
        chosen = [made[-1], *(v for v in made[:-1] if g.chance(0.3))]
        return {f"y{i}": v for i, v in enumerate(dict.fromkeys(chosen))}

    return Sample(f"seed {seed}", model, specs, arrays, dims, Tolerance(reduction=64), f"seed {seed}")
