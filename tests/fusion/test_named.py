"""Models that fusion could get wrong, each with the reason why; executed with NumPy, then compiled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.samples import Sample, Tolerance, library, lower, report, run_native, run_numpy

from dinoml import Dim, Parameter, TensorSpec, ops

N, M = Dim("n", min=0, max=6), Dim("m", min=1, max=5)
DIMS = {"n": 4, "m": 3}


@dataclass(frozen=True)
class Named:
    """A model and its inputs' shapes; int64 inputs hold 0..2."""

    model: Callable[..., Any]
    shapes: dict[str, list[Any]]
    ids: tuple[str, ...] = ()


def _weight(*shape: int) -> Parameter:
    return Parameter(list(shape), value=(np.random.default_rng(sum(shape)).standard_normal(shape) * 0.4).astype(np.float32))


def used_before_and_after(x: Any) -> Any:
    """The value that feeds a kernel is also added to its result: one kernel must not read what it has not written."""
    h = ops.relu(x)
    return h + ops.softmax(ops.exp(h))


def epilogues_that_wait_for_each_other(x: Any, y: Any) -> Any:
    a, b = ops.softmax(x), ops.softmax(y)
    return {"first": a + b, "second": b + a[0]}


def result_at_another_place(x: Any) -> Any:
    a = ops.softmax(x)
    s = ops.relu(a) - 0.1
    return {"a": ops.identity(a), "s": s, "t": s + ops.flip(a, dims=(1,))}


def epilogue_over_a_later_reduction(x: Any) -> Any:
    """max reads the kernel's input chain and a reduction of its result: as one kernel that would be a cycle."""
    h = ops.max(x - 0.5, x * 0.5)
    g = ops.gemm(h, _weight(5, 5))
    return {"h": ops.sigmoid(h), "y": ops.min(ops.sigmoid(h), ops.reduce_sum(g, dim=0, keepdim=True) * 0.2)}


def norm_with_residual_stored_on_the_way(x: Any, y: Any) -> Any:
    total = x + y
    return {"normed": ops.rms_norm(total, eps=0.1), "total": total}


def lookup_under_a_guard(table_of: Any, ids: Any) -> Any:
    """Concatenation computes an embedding only inside its own part: outside, the ids must not be read."""
    rows = ops.embedding(_weight(3, 5), ids)
    return ops.concatenate([table_of, rows, table_of], dim=0)


def padding_of_a_chain(x: Any) -> Any:
    return ops.pad(ops.exp(x), (1, 2, 1, 0), value=0.5) * 2.0


def softmax_over_concatenated_columns(x: Any, y: Any) -> Any:
    return ops.softmax(ops.concatenate([x, y * 2.0, x], dim=1), dim=1)


def store_through_views(x: Any) -> Any:
    return ops.permute(ops.reshape(ops.gemm(x, _weight(5, 12)) + 1.0, (N, 3, 4)), (1, 2, 0))


def many_outputs_of_one_chain(x: Any) -> Any:
    values = [x]
    for i in range(7):
        values.append(ops.tanh(values[-1]) + 0.1 * i)
    return {f"v{i}": v for i, v in enumerate(values[1:])}


def reduction_of_a_reduction(x: Any) -> Any:
    centred = x - ops.reduce_mean(x, dim=1, keepdim=True)
    return ops.reduce_max(centred * centred, dim=0) + ops.reduce_sum(centred, dim=None)


def strided_slices_of_a_product(x: Any) -> Any:
    y = ops.gemm(x, _weight(5, 12))
    return {"even": y[:, ::2] * 2.0, "back": ops.flip(y, dims=(0, 1)), "row": ops.softmax(y[:, 3:9])}


def one_value_reshaped_two_ways(x: Any) -> Any:
    h = ops.exp(x * 0.3)
    return {"a": ops.reshape(h, (N * 5,)) + 1.0, "b": ops.permute(h, (1, 0)) * 2.0}


def batches_that_alternate(a: Any, b: Any) -> Any:
    """A product over three batch axes which the operands share in turn: kernels loop over two."""
    return ops.gemm(a, b) * 0.5


def batches_under_a_weight(a: Any) -> Any:
    return ops.gemm(a, _weight(3, 5, 4))


def batches_in_another_order(a: Any, b: Any) -> Any:
    return ops.permute(ops.gemm(ops.permute(a, (2, 1, 0, 3, 4)), b), (1, 0, 2, 4, 3))


def half_precision_inside(x: Any) -> Any:
    return ops.cast(ops.softmax(ops.cast(ops.cast(x, "bfloat16") * 3.0, "float32")), "float16")


def where_over_a_kernel(x: Any) -> Any:
    y = ops.softmax(x)
    return ops.where(x > 0.0, y, ops.min(x, y))


def argmax_then_gather(x: Any) -> Any:
    best = ops.argmax(x, dim=1, keepdim=True)
    return {"at": best, "value": ops.gather(x, 1, best) * 2.0}


def masked_then_summed(x: Any) -> Any:
    """The number of selected elements is known only after a kernel ran; the next kernel depends on it."""
    y = ops.masked_select(x, x > 0.0)
    return {"kept": y * 2.0, "total": ops.reduce_sum(y), "more": ops.softmax(ops.concatenate([y, y])), "back": ops.flip(y, dims=(0,))}


ROW = {"x": [N, 5]}
NAMED: list[Named] = [
    Named(used_before_and_after, {"x": [N, 5]}),
    Named(epilogues_that_wait_for_each_other, {"x": [4, 5], "y": [5]}),
    Named(result_at_another_place, ROW),
    Named(epilogue_over_a_later_reduction, ROW),
    Named(norm_with_residual_stored_on_the_way, {"x": [N, 5], "y": [N, 5]}),
    Named(lookup_under_a_guard, {"table_of": [M, 5], "ids": [N]}, ids=("ids",)),
    Named(padding_of_a_chain, ROW),
    Named(softmax_over_concatenated_columns, {"x": [N, 5], "y": [N, M]}),
    Named(store_through_views, ROW),
    Named(many_outputs_of_one_chain, ROW),
    Named(reduction_of_a_reduction, ROW),
    Named(strided_slices_of_a_product, ROW),
    Named(one_value_reshaped_two_ways, ROW),
    Named(batches_that_alternate, {"a": [2, N, 3, M, 5], "b": [N, 1, 5, 4]}),
    Named(batches_under_a_weight, {"a": [2, 3, N, 5]}),
    Named(batches_in_another_order, {"a": [2, N, 3, M, 5], "b": [5, 4]}),
    Named(half_precision_inside, ROW),
    Named(where_over_a_kernel, ROW),
    Named(argmax_then_gather, ROW),
    Named(masked_then_summed, ROW),
]


def _sample(n: Named, size: int) -> Sample:
    rng = np.random.default_rng(5)
    dims = {"n": size, "m": DIMS["m"]}
    specs = {k: TensorSpec(s, "int64" if k in n.ids else "float32") for k, s in n.shapes.items()}
    arrays = {}
    for name, spec in specs.items():
        shape = [dims[e.name] if isinstance(e, Dim) else int(e) for e in spec.shape]  # type: ignore[arg-type]
        arrays[name] = rng.integers(0, 3, shape) if name in n.ids else rng.uniform(-2, 2, shape).astype(np.float32)
    used = {e.name for s in specs.values() for e in s.shape if isinstance(e, Dim)}
    return Sample(
        f"{n.model.__name__} n={size}",
        n.model,
        specs,
        arrays,
        {k: v for k, v in dims.items() if k in used},
        Tolerance(16, roundings=3),
        n.model.__name__,
    )


@pytest.mark.parametrize("named", NAMED, ids=lambda n: n.model.__name__)
def test_with_numpy(named: Named) -> None:
    failures = run_numpy(library([_sample(named, n) for n in (4, 1, 0)]))
    assert not failures, report(failures)


def test_compiled(tmp_path: Path) -> None:
    failures = run_native(library([_sample(named, n) for named in NAMED for n in (4, 1, 0)], "named"), tmp_path)
    assert not failures, report(failures)


def _kernels(model: Callable[..., Any], **shapes: list[Any]) -> int:
    specs = {k: TensorSpec(s) for k, s in shapes.items()}
    return len(lower(library([Sample("count", model, specs, {})])).function("f0").kernels)


@pytest.mark.parametrize(
    ("model", "count"),
    [
        (many_outputs_of_one_chain, 2),
        (norm_with_residual_stored_on_the_way, 1),
        (store_through_views, 1),
        (softmax_over_concatenated_columns, 1),
        (used_before_and_after, 2),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_neighbours_share_kernels(model: Callable[..., Any], count: int) -> None:
    shapes = next(n.shapes for n in NAMED if n.model is model)
    assert _kernels(model, **shapes) <= count
