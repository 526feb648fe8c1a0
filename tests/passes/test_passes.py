"""Passes: what they remove, merge and move, checked on values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dinoml as dml
from dinoml import ops, runtime
from dinoml.compiler import Lowered, compile, lower
from dinoml.operators import registry
from dinoml.passes.constants import run_constant_program
from dinoml.targets import Target

CPU = Target("cpu")
RNG = np.random.default_rng(0)


def lowered(fn: Callable[..., Any], shape: tuple[Any, ...] = (4, 8), **constants: np.ndarray) -> Lowered:
    return lower(traced(fn, shape, **constants), CPU)


def traced(fn: Callable[..., Any], shape: tuple[Any, ...] = (4, 8), **constants: np.ndarray) -> dml.ModelSpec:
    class Model(dml.Module):
        def __init__(self) -> None:
            for name, value in constants.items():
                setattr(self, name, dml.Parameter(value.shape, str(value.dtype)))

        def forward(self, x: dml.Tensor) -> Any:
            return fn(x, **{name: getattr(self, name) for name in constants})

    return dml.trace(Model(), inputs={"x": dml.TensorSpec(shape)}, constants=constants, name="passes")


def operators(low: Lowered) -> list[str]:
    return [n.op for n in low.graph.functions[0].nodes]


def test_no_composite_is_left() -> None:
    low = lowered(lambda x: ops.layer_norm(ops.swiglu(x), None, None, normalized_shape=(4,)))
    assert all(registry.get(op).kind != "composite" for op in operators(low))


def test_equal_nodes_are_merged_and_dead_ones_removed() -> None:
    def model(x: dml.Tensor) -> dml.Tensor:
        ops.exp(x)
        return ops.output(ops.sin(x) * ops.sin(x), "y")

    found = operators(lowered(model))
    assert found.count("sin") == 1 and "exp" not in found


def test_equal_numbers_of_different_types_stay_apart() -> None:
    def model(x: dml.Tensor) -> dict[str, dml.Tensor]:
        return {
            "a": ops.full((2,), 1, "int32"),
            "b": ops.full((2,), 1.0, "float32"),
            "c": ops.full((2,), -0.0),
            "d": ops.full((2,), 0.0),
            "e": ops.relu(x),
        }

    assert operators(lowered(model)).count("full") == 4


def test_constant_arithmetic_moves_into_the_constant_program() -> None:
    w = RNG.standard_normal((4, 8), np.float32)
    low = lowered(lambda x, w: x + ops.exp(w) * 2.0, w=w)
    assert operators(low) == ["add"]
    assert low.graph.constant_program is not None
    (stored,) = low.graph.constants
    np.testing.assert_allclose(run_constant_program(low.graph, {"w": w})[stored.name], np.exp(w) * 2, rtol=1e-6)


def test_a_view_of_a_constant_is_not_stored_again() -> None:
    low = lowered(lambda x, w: x + w[1:, :8], w=RNG.standard_normal((5, 9), np.float32))
    assert [c.name for c in low.graph.constants] == ["w"] and low.graph.constant_program is None


def test_query_key_value_become_one_product() -> None:
    weights = {n: RNG.standard_normal((16, 8), np.float32) for n in "qkv"}

    def model(x: dml.Tensor, q: dml.Tensor, k: dml.Tensor, v: dml.Tensor) -> dml.Tensor:
        heads = [ops.linear(x, w).reshape(1, 4, 2, 8).permute(0, 2, 1, 3) for w in (q, k, v)]
        return ops.output(ops.scaled_dot_product_attention(*heads), "y")

    low = lowered(model, **weights)
    assert sum(op.startswith("gemm") for op in operators(low)) == 1
    assert len(low.plans[0].steps) == 2


def test_gate_and_up_projection_stay_two_products() -> None:
    weights = {n: RNG.standard_normal((16, 8), np.float32) for n in ("gate", "up")}
    low = lowered(lambda x, gate, up: ops.silu(ops.linear(x, gate)) * ops.linear(x, up), **weights)
    assert len(low.plans[0].steps) == 2


@pytest.mark.parametrize("columns", [1, 31, 33])
def test_the_native_constant_program_agrees_with_the_stored_constants(tmp_path: Path, columns: int) -> None:
    w, b = RNG.standard_normal((columns, 8), np.float32), RNG.standard_normal(columns, np.float32)
    model = traced(lambda x, w, b: ops.linear(x, w * 3.0) + ops.exp(b), w=w, b=b)
    module = runtime.load(compile(model, CPU, tmp_path / "m.dinoml").path)
    x = RNG.standard_normal((4, 8), np.float32)
    (before,) = module.create_session().run_numpy({"x": x}).values()
    module.set_constants({"w": w, "b": b})
    (after,) = module.create_session().run_numpy({"x": x}).values()
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)
    module.set_constants({"w": 2 * w})
    (doubled,) = module.create_session().run_numpy({"x": x}).values()
    np.testing.assert_allclose(doubled, 2 * (before - np.exp(b)) + np.exp(b), rtol=1e-4, atol=1e-5)


def layers(count: int) -> Lowered:
    """Return a small pre-norm transformer of `count` layers."""
    shapes = {"q": (32, 32), "k": (32, 32), "v": (32, 32), "o": (32, 32), "up": (64, 32), "down": (32, 64)}
    constants = {f"{n}{i}": np.zeros(s, np.float32) for i in range(count) for n, s in shapes.items()}

    def model(x: dml.Tensor, **w: dml.Tensor) -> dml.Tensor:
        for i in range(count):
            h = ops.rms_norm(x)
            heads = [ops.linear(h, w[f"{n}{i}"]).reshape(2, 5, 4, 8).permute(0, 2, 1, 3) for n in "qkv"]
            y = ops.scaled_dot_product_attention(*heads, causal=True).permute(0, 2, 1, 3).reshape(2, 5, 32)
            x = x + ops.linear(y, w[f"o{i}"])
            x = x + ops.linear(ops.silu(ops.linear(ops.rms_norm(x), w[f"up{i}"])), w[f"down{i}"])
        return ops.output(x, "y")

    return lowered(model, (2, 5, 32), **constants)


def test_sixty_layers_need_as_many_kernels_as_six() -> None:
    few, many = layers(6), layers(60)
    assert len(few.sources) == len(many.sources)
    assert len(many.plans[0].steps) <= 7 * 60
