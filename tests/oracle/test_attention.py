"""Attention where there is nothing to attend to, and where NaN and infinities enter: reference and compiled kernels against PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from opinions import differences, opinion
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch_calls import sdpa

import dinoml
from dinoml import ops, runtime
from dinoml.compare import compare
from dinoml.operators import registry

Array = np.ndarray[Any, Any]
BATCH, HEADS, WIDTH = 2, 3, 16
NAN, INF = np.nan, np.inf


@dataclass
class Operands:
    """One call: q, k, v, a mask or none, and whether it is causal."""

    q: Array
    k: Array
    v: Array
    mask: Array | None = None
    causal: bool = False

    @classmethod
    def random(cls, queries: int, keys: int) -> Operands:
        rng = np.random.default_rng([queries, keys])
        q, k, v = (rng.uniform(-1, 1, (BATCH, HEADS, n, WIDTH)).astype(np.float32) for n in (queries, keys, keys))
        return cls(q, k, v)

    def all_true(self) -> Array:
        return np.ones((BATCH, 1, self.q.shape[2], self.k.shape[2]), bool)


def masked(o: Operands, keys: slice, queries: slice = slice(None)) -> None:
    """Hide keys from queries with a bool mask."""
    o.mask = o.all_true() if o.mask is None else o.mask
    o.mask[:, :, queries, keys] = False


def added(o: Operands) -> None:
    """Turn the bool mask into the numbers that PyTorch's documentation says it stands for."""
    o.mask = np.where(o.mask, np.float32(0), np.float32(-INF))


def empty_row(o: Operands) -> None:
    masked(o, slice(None), slice(2, 3))


def empty_row_added(o: Operands) -> None:
    empty_row(o)
    added(o)


def lowest_number(o: Operands) -> None:
    empty_row(o)
    o.mask = np.where(o.mask, np.float32(0), np.finfo(np.float32).min)


def first_keys(o: Operands) -> None:
    masked(o, slice(0, o.k.shape[2] // 2))


def causal(o: Operands) -> None:
    o.causal = True


def nan_query(o: Operands) -> None:
    o.q[0, 0, 1, 3] = NAN


def nan_query_masked(o: Operands) -> None:
    nan_query(o)
    first_keys(o)


def nan_query_without_keys(o: Operands) -> None:
    nan_query(o)
    masked(o, slice(None), slice(1, 2))


def nan_hidden_key(o: Operands) -> None:
    first_keys(o)
    o.k[:, :, 1] = NAN


def nan_hidden_key_added(o: Operands) -> None:
    nan_hidden_key(o)
    added(o)


def nan_value(o: Operands) -> None:
    o.v[1, 2, 1, 5] = NAN


def nan_hidden_value(o: Operands) -> None:
    first_keys(o)
    nan_value(o)


def infinite_value(o: Operands) -> None:
    o.v[1, 2, 1, 5] = -INF


def infinite_key(o: Operands) -> None:
    o.k[0, 1, 2] = INF


def infinite_mask(o: Operands) -> None:
    first_keys(o)
    added(o)
    assert o.mask is not None
    o.mask[:, :, 1, -1] = INF


def nan_mask(o: Operands) -> None:
    infinite_mask(o)
    assert o.mask is not None
    o.mask[:, :, 1, -1] = NAN


EDITS: tuple[Callable[[Operands], None], ...] = (
    empty_row, empty_row_added, lowest_number, first_keys, causal, nan_query, nan_query_masked, nan_query_without_keys, nan_hidden_key,
    nan_hidden_key_added, nan_value, nan_hidden_value, infinite_value, infinite_key, infinite_mask, nan_mask,
)  # fmt: skip
SIZES = ((5, 7), (40, 300), (3, 300))  # few queries take another kernel
# PyTorch adds -inf to the score of a key that a bool mask hides, so a score of NaN stays; here the mask hides what the key holds.
HIDDEN_NAN = (nan_hidden_key, nan_query_without_keys)


def _operands(edit: Callable[[Operands], None], queries: int, keys: int) -> Operands:
    o = Operands.random(queries, keys)
    edit(o)
    return o


def _wide(o: Operands) -> list[Array | None]:
    return [None if a is None else a if a.dtype == bool else a.astype(np.float64) for a in (o.q, o.k, o.v, o.mask)]


def _reference(o: Operands) -> Array:
    return registry.get("scaled_dot_product_attention").reference(_wide(o), {"causal": o.causal, "scale": None, "enable_gqa": False})[0]


def _selected(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Return attention that chooses between the score and -inf, in PyTorch's terms."""
    scores = torch.where(mask, q @ k.mT / q.shape[-1] ** 0.5, -INF)
    return torch.where(mask.any(-1, keepdim=True), torch.softmax(scores, -1), 0) @ v


def _pytorch(o: Operands, edit: Callable[[Operands], None] | None = None) -> Array:
    """Return PyTorch's opinion. Its fused kernel makes NaN or zeros of a row of NaN as the shape has it, the plain one always NaN."""
    if edit in HIDDEN_NAN:
        return opinion(_selected, _wide(o), {})[0]
    with sdpa_kernel(SDPBackend.MATH):
        return opinion(sdpa, _wide(o), {"causal": o.causal})[0]


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[runtime.Session]:
    """One function for each kind of call, with queries and keys known at run time."""
    queries, keys = dinoml.Dim("queries", min=0, max=40), dinoml.Dim("keys", min=0, max=300)
    operands = {"q": queries, "k": keys, "v": keys}
    plain = {name: dinoml.TensorSpec([BATCH, HEADS, n, WIDTH]) for name, n in operands.items()}
    mask = [BATCH, 1, queries, keys]

    def attend(q: Any, k: Any, v: Any, mask: Any = None) -> dict[str, Any]:
        return {"y": ops.scaled_dot_product_attention(q, k, v, mask)}

    def attend_causally(q: Any, k: Any, v: Any) -> dict[str, Any]:
        return {"y": ops.scaled_dot_product_attention(q, k, v, causal=True)}

    functions = {
        "plain": (attend, plain),
        "causal": (attend_causally, plain),
        "bool": (attend, {**plain, "mask": dinoml.TensorSpec(mask, "bool")}),
        "float32": (attend, {**plain, "mask": dinoml.TensorSpec(mask)}),
    }
    spec = dinoml.trace(attend, functions=functions, name="attention")
    artifact = dinoml.compile(spec, "cpu", tmp_path_factory.mktemp("attention") / "attention.dinoml")
    with runtime.load(artifact.path) as module, module.create_session() as made:
        yield made


def _compiled(session: runtime.Session, o: Operands) -> Array:
    given = {"q": o.q, "k": o.k, "v": o.v} | ({} if o.mask is None else {"mask": o.mask})
    function = "causal" if o.causal else "plain" if o.mask is None else o.mask.dtype.name
    return np.asarray(session.run_numpy(given, function=function)["y"])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("edit", EDITS)
def test_reference(edit: Callable[[Operands], None], size: tuple[int, int]) -> None:
    o = _operands(edit, *size)
    found = differences((_reference(o),), (_pytorch(o, edit),), exact=False)
    assert not found, found[0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("edit", EDITS)
def test_compiled(edit: Callable[[Operands], None], size: tuple[int, int], session: runtime.Session) -> None:
    o = _operands(edit, *size)
    result = compare(_compiled(session, o), _pytorch(o, edit), reduction_length=WIDTH + size[1])
    assert result, result.message


@pytest.mark.parametrize("size", [(5, 0), (0, 7)])
def test_no_keys_and_no_queries(size: tuple[int, int], session: runtime.Session) -> None:
    o = Operands.random(*size)
    want = _pytorch(o)
    assert not want.any()
    for got in (_reference(o), _compiled(session, o)):
        assert np.array_equal(got, want)
        assert got.shape == want.shape
