"""Operators and methods of Tensor against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import dinoml as dml
from dinoml.operators.evaluate import evaluate

N = dml.Dim("n", min=0, max=9)
RNG = np.random.default_rng(0)


def _run(fn, *arrays, symbolic=True):
    specs = {}
    for i, a in enumerate(arrays):
        shape = [N if symbolic and axis == 0 and i == 0 else d for axis, d in enumerate(a.shape)]
        specs[f"x{i}"] = dml.TensorSpec(shape, str(a.dtype))
    spec = dml.trace(lambda **tensors: fn(*tensors.values()), inputs=specs)
    return evaluate(spec.graph, {f"x{i}": a for i, a in enumerate(arrays)}, spec.constants)["output_0"]


FLOATS = [
    lambda x: x + 2, lambda x: 2 - x, lambda x: x * x - 1.5, lambda x: 3 / (x * x + 1), lambda x: x**2, lambda x: (x * x + 1) ** 0.5,
    lambda x: 2.0 ** x, lambda x: x // 2, lambda x: x % 2, lambda x: -x, lambda x: +x, lambda x: abs(x), lambda x: x > 0.5, lambda x: x <= 0.5,
    lambda x: x == x, lambda x: x != 0, lambda x: (x > 0) & (x < 1), lambda x: (x > 0) | ~(x < 1), lambda x: (x > 0) ^ (x < 1),
]  # fmt: skip


@pytest.mark.parametrize("fn", FLOATS)
def test_float_operators(fn) -> None:
    x = RNG.standard_normal((5, 7)).astype(np.float32)
    np.testing.assert_allclose(_run(fn, x), fn(x.astype(np.float64)), rtol=1e-6)


INTS = [lambda x: x + 2, lambda x: 7 - x, lambda x: x * 3, lambda x: x // 4, lambda x: x % 4, lambda x: x & 6, lambda x: x | 1, lambda x: x ^ 5,
        lambda x: ~x, lambda x: x << 2, lambda x: x >> 1, lambda x: -x, lambda x: x >= 3]  # fmt: skip


@pytest.mark.parametrize("fn", INTS)
def test_integer_operators(fn) -> None:
    x = RNG.integers(-20, 20, (5, 7))
    np.testing.assert_array_equal(_run(fn, x), fn(x))


INDICES = [
    np.s_[1:3], np.s_[:, 2], np.s_[:, -1], np.s_[..., 1:], np.s_[:, None], np.s_[None, ..., None], np.s_[:, ::2], np.s_[:, 1::3], np.s_[:, ::-1],
    np.s_[:, 5:1:-2], np.s_[:, -3:-1], np.s_[:, 100:], np.s_[:, :100], np.s_[::-1], np.s_[:-1], np.s_[-2:], np.s_[1:], np.s_[:, 3, None, ::2],
    np.s_[..., None, 0, :], np.s_[:, 6:2], np.s_[::3], np.s_[:4:2, 1],
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_indexing(index, rows) -> None:
    x = RNG.standard_normal((rows, 7, 3)).astype(np.float32)
    got = _run(lambda x: x[index], x)
    np.testing.assert_array_equal(got, x[index].astype(np.float64))


def test_indexing_refusals() -> None:
    x = np.zeros((5, 7), np.float32)
    for index, text in (
        (np.s_[:, 7], "outside axis 1"), (np.s_[:, -8], "outside axis 1"), (np.s_[0, 0, 0], "3 indices"), (np.s_[..., ...], "one"),
        ([1, 2], "index_select"), (np.s_[:, ::0], "step"), (1.5, "integers, slices"),
    ):  # fmt: skip
        with pytest.raises(dml.OperatorError, match=text):
            _run(lambda x, index=index: x[index], x, symbolic=False)
    with pytest.raises(dml.OperatorError, match="not for certain inside"):
        _run(lambda x: x[3], x)  # n may be 0


METHODS = [
    (lambda x: x.reshape(x.shape[0], 7 * 3), lambda x: x.reshape(x.shape[0], 21)),
    (lambda x: x.reshape((x.shape[0] * 7, 3)), lambda x: x.reshape(-1, 3)),
    (lambda x: x.view(-1, 21), lambda x: x.reshape(-1, 21)),
    (lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    (lambda x: x.permute([0, -1, 1]), lambda x: x.transpose(0, 2, 1)),
    (lambda x: x.transpose(0, 1), lambda x: x.swapaxes(0, 1)),
    (lambda x: x.flatten(1), lambda x: x.reshape(len(x), 21)),
    (lambda x: x.unsqueeze(0).squeeze(0), lambda x: x),
    (lambda x: x.unsqueeze(1).expand(-1, 4, -1, -1), lambda x: np.repeat(x[:, None], 4, 1)),
    (lambda x: x.sum(), lambda x: x.sum(-1)),
    (lambda x: x.sum(dim=(1, 2)), lambda x: x.sum((1, 2))),
    (lambda x: x.sum(None), lambda x: x.sum()),
    (lambda x: x.mean(1, keepdim=True), lambda x: x.mean(1, keepdims=True)),
    (lambda x: x.max(-1), lambda x: x.max(-1)),
    (lambda x: x.min(2), lambda x: x.min(2)),
    (lambda x: x.var(-1), lambda x: x.var(-1)),
    (lambda x: x.argmax(1), lambda x: x.argmax(1)),
    (lambda x: x.softmax(-1).sum(-1), lambda x: np.ones(x.shape[:2])),
    (lambda x: x.to("int32"), lambda x: x.astype(np.int32)),
    (lambda x: x.clamp(-0.5, 0.5), lambda x: x.clip(-0.5, 0.5)),
    (lambda x: x.masked_fill(x > 0, 9), lambda x: np.where(x > 0, 9, x)),
    (lambda x: x.chunk(3, -1)[1], lambda x: x[..., 1:2]),
    (lambda x: x.split([3, 4], 1)[0], lambda x: x[:, :3]),
    (lambda x: x.flip(1), lambda x: x[:, ::-1]),
    (lambda x: x.repeat(1, 2, 1), lambda x: np.tile(x, (1, 2, 1))),
    (lambda x: x.topk(2, 1)[0], lambda x: -np.sort(-x, 1)[:, :2]),
    (lambda x: x.tril(), lambda x: np.tril(x)),
    (lambda x: x @ np.ones((3, 2), np.float32), lambda x: x @ np.ones((3, 2))),
]


@pytest.mark.parametrize(("fn", "want"), METHODS)
def test_methods(fn, want) -> None:
    x = RNG.standard_normal((5, 7, 3)).astype(np.float32)
    np.testing.assert_allclose(_run(fn, x), want(x.astype(np.float64)), rtol=1e-6, atol=1e-12)


def test_shape_is_symbolic() -> None:
    def model(x0):
        assert x0.shape == (N, 7)
        assert x0.rank == x0.ndim == x0.dim() == 2
        assert x0.numel() == N * 7
        assert x0.size(1) == 7
        return x0.reshape(x0.shape[0] // 1, 7) + dml.ops.zeros((x0.shape[0], 1))

    assert _run(model, np.ones((3, 7), np.float32)).shape == (3, 7)


def test_rows_of_fixed_extents_can_be_iterated() -> None:
    x = RNG.standard_normal((3, 4)).astype(np.float32)
    got = _run(lambda x: dml.ops.stack(list(x)), x, symbolic=False)
    np.testing.assert_array_equal(got, x.astype(np.float64))
    with pytest.raises(TypeError, match="no fixed length"):
        _run(lambda x: dml.ops.stack(list(x)), x)


REFUSED = [
    (lambda x: x + True, "use 0 or 1"),
    (lambda x: x.to("int64") + 1.5, "not an integer"),
    (lambda x: x + x.to("float16"), r"x0 is float32 and x1 is float16; dtypes are not promoted. Convert one with dinoml.ops.cast"),
    (lambda x: x.to("int32") / 2, "int32; float32, float16, bfloat16 are accepted"),
    (lambda x: x.sum(3), "dim=3 is outside a tensor of rank 2"),
    (lambda x: x.reshape(3, 3), "elements"),
    (lambda x: x + np.ones((7, 2), np.float32), r"do not broadcast \(axis 0: n against 7"),
    (lambda x: dml.ops.gelu(x, approximation="tanhh"), "'tanh', 'none'"),
    (lambda x: dml.ops.gelu(x, aproximation="tanh"), "did you mean 'approximation'"),
    (lambda x: dml.ops.softmax(x, 1, 2), "takes at most"),
    (lambda x: dml.ops.softmax(), "needs 'x'"),
    (lambda x: dml.ops.pad(x, (-1, 0)), "padding is not negative"),
    (lambda x: dml.ops.where(x > 0, 1.0, 0.0), "there is none"),
    (lambda x: x.mean(0).to("bool").sum(), "bool; float32"),
    (lambda x: x @ x, "contracted extents differ"),
    (lambda x: dml.ops.topk(x, 9), "k=9 is more than axis 1"),
    (lambda x: x + "text", "must be a tensor"),
]


@pytest.mark.parametrize(("fn", "text"), REFUSED)
def test_refusals_name_operator_reason_and_line(fn, text) -> None:
    with pytest.raises((dml.OperatorError, TypeError), match=text) as e:
        _run(fn, np.ones((5, 7), np.float32))
    assert isinstance(e.value, TypeError) or "test_tensor.py:" in str(e.value)


def test_exact_semantics() -> None:
    x = np.array([-200.0, -1.0, 0.0, 1.0, 200.0], np.float32)
    np.testing.assert_allclose(_run(dml.ops.softplus, x, symbolic=False)[-1], 200.0)
    got = _run(lambda x: dml.ops.gelu(x, approximate="none"), np.array([1.0], np.float32), symbolic=False)
    np.testing.assert_allclose(got, [0.8413447460685429], rtol=1e-12)
    np.testing.assert_array_equal(_run(dml.ops.nan_to_num, np.array([np.nan, np.inf, -np.inf, 2], np.float32), symbolic=False), [0, 0, 0, 2])
    values = np.array([np.nan, 0.0, -0.0, 2.5, -2.5, 1e20], np.float32)
    np.testing.assert_array_equal(_run(lambda x: x.to("bool"), values, symbolic=False), [True, False, False, True, True, True])
    np.testing.assert_array_equal(_run(lambda x: x.to("int32"), values, symbolic=False), [0, 0, 0, 2, -2, 2**31 - 1])
    big = 10_000 + np.arange(4.0, dtype=np.float32)
    np.testing.assert_allclose(_run(lambda x: x.var(-1), big, symbolic=False), 1.25)
