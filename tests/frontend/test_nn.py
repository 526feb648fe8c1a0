from __future__ import annotations

import numpy as np
import pytest

import dinoml as dml
from dinoml import nn
from dinoml.nn import functional as F
from dinoml.operators.evaluate import evaluate

RNG = np.random.default_rng(0)


def _values(module: dml.Module) -> dict[str, np.ndarray]:
    return {name: RNG.standard_normal(p.shape).astype(np.float32) for name, p in module.named_parameters()}


def _run(module, *arrays, values=None):
    specs = {f"x{i}": dml.TensorSpec(a.shape, str(a.dtype)) for i, a in enumerate(arrays)}
    spec = dml.trace(lambda **t: module(*t.values()), inputs=specs) if not isinstance(module, dml.Module) else None
    if spec is None:

        class Root(dml.Module):
            def __init__(self):
                self.m = module

            def forward(self, **t):
                return self.m(*t.values())

        spec = dml.trace(Root(), inputs=specs, constants={f"m.{k}": v for k, v in (values or {}).items()})
    return evaluate(spec.graph, {f"x{i}": a for i, a in enumerate(arrays)}, spec.constants)["output_0"]


def test_sequential_names_and_values() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3, bias=False))
    assert [n for n, _ in model.named_parameters()] == ["0.weight", "0.bias", "2.weight"]
    v = _values(model)
    x = RNG.standard_normal((4, 6)).astype(np.float32)
    want = np.maximum(x @ v["0.weight"].T.astype(float) + v["0.bias"], 0) @ v["2.weight"].T.astype(float)
    np.testing.assert_allclose(_run(model, x, values=v), want, rtol=1e-6)


def test_module_list_and_load_state() -> None:
    class M(dml.Module):
        def __init__(self):
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    m = M()
    assert [n for n, _ in m.named_parameters()] == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
    m.load_state(_values(m))
    assert all(p.value is not None for p in m.parameters())
    with pytest.raises(KeyError, match=r"layers.9"):
        m.load_state({"layers.9.weight": np.zeros((4, 4))})


def test_normalisations() -> None:
    x = RNG.standard_normal((3, 5, 8)).astype(np.float32)
    ln = nn.LayerNorm((5, 8))
    v = _values(ln)
    centred = x - x.mean((1, 2), keepdims=True, dtype=float)
    want = centred / np.sqrt((centred**2).mean((1, 2), keepdims=True) + 1e-5) * v["weight"] + v["bias"]
    np.testing.assert_allclose(_run(ln, x, values=v), want, rtol=1e-5, atol=1e-6)
    rms = nn.RMSNorm(8)
    v = _values(rms)
    want = x / np.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True) + 1e-6) * v["weight"]
    np.testing.assert_allclose(_run(rms, x, values=v), want, rtol=1e-5)


def test_attention_block() -> None:
    block = nn.SelfAttention(12, 3, causal=True, key_heads=1)
    v = _values(block)
    x = RNG.standard_normal((2, 4, 12)).astype(np.float32)
    f = {k: a.astype(float) for k, a in v.items()}
    q, k, w = (x @ f[f"{n}.weight"].T + f[f"{n}.bias"] for n in ("query", "key", "value"))
    q = q.reshape(2, 4, 3, 4).swapaxes(1, 2)
    k, w = k[:, None], w[:, None]
    s = np.where(np.tri(4, dtype=bool), q @ k.swapaxes(-1, -2) / 2, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    y = (p / p.sum(-1, keepdims=True) @ w).swapaxes(1, 2).reshape(2, 4, 12)
    np.testing.assert_allclose(_run(block, x, values=v), y @ f["output.weight"].T + f["output.bias"], rtol=1e-6)


def test_linear_specialization_takes_residuals() -> None:
    layer = nn.Linear(6, 4, specialization="add_relu")
    v = _values(layer)
    x, r = RNG.standard_normal((3, 6)).astype(np.float32), RNG.standard_normal((3, 4)).astype(np.float32)
    want = np.maximum(x.astype(float) @ v["weight"].T + v["bias"] + r, 0)
    np.testing.assert_allclose(_run(layer, x, r, values=v), want, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="needs bias"):
        nn.Linear(2, 2, bias=False, specialization="relu")


def test_images() -> None:
    x = RNG.standard_normal((2, 4, 6, 6)).astype(np.float32)
    assert _run(
        nn.Sequential(nn.Conv2d(4, 8, 3, padding=1, bias=False), nn.MaxPool2d(2), nn.AvgPool2d(3)), x, values={"0.weight": np.ones((8, 4, 3, 3))}
    ).shape == (2, 8, 1, 1)
    round_trip = nn.Sequential(nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.Flatten(), nn.Unflatten(1, (4, 6, 6)), nn.Dropout(0.5), nn.Identity())
    np.testing.assert_array_equal(_run(round_trip, x), x.astype(float))
    with pytest.raises(ValueError, match="residual"):
        _run(nn.Conv2d(4, 4, 1, add=True), x, values={"weight": np.ones((4, 4, 1, 1)), "bias": np.ones(4)})


def test_functional_matches_operators() -> None:
    x = RNG.standard_normal((2, 3, 4, 4)).astype(np.float32)
    attention = _run(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), x)
    assert attention.shape == x.shape
    np.testing.assert_allclose(_run(lambda t: F.layer_norm(t, (4,)), x).mean(-1), 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(_run(F.normalize, x), axis=1), 1)
    np.testing.assert_allclose(_run(lambda t: F.pad(t, (1, 1)), x)[..., 1:-1], x)
    with pytest.raises(ValueError, match="reflect"):
        _run(lambda t: F.pad(t, (1, 1), mode="reflect"), x)
    with pytest.raises(ValueError, match="training"):
        _run(lambda t: F.dropout(t, training=True), x)
