"""The other public names: called through dinoml.ops, they do what PyTorch does with the same operands in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from opinions import differences, opinion
from torch_names import Example, example

import dinoml
from dinoml import ops
from dinoml.operators import registry
from dinoml.operators.evaluate import evaluate, wide

NAMES = sorted(n for n, operator in registry.index().public.items() if n != operator)


def _arrays(e: Example) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(len(e.shapes))
    kinds = e.dtypes or ("float32",) * len(e.shapes)
    make = {
        "float32": lambda s: rng.uniform(-3, 3, s).astype(np.float32),
        "int64": lambda s: rng.integers(0, 4, s),  # also a valid index and a divisor of 0
        "bool": lambda s: rng.random(s) < 0.7,
    }
    return {f"x{i}": make[k](s) for i, (k, s) in enumerate(zip(kinds, e.shapes, strict=True))}


def test_every_name_has_an_example() -> None:
    missing = [n for n in NAMES if example(n) is None]
    assert not missing, f"add to tests/oracle/torch_names.py: {', '.join(missing)}"


@pytest.mark.parametrize("name", NAMES)
def test_name_means_what_pytorch_does(name: str) -> None:
    e = example(name)
    assert e is not None
    arrays = _arrays(e)

    def model(**tensors: Any) -> dict[str, Any]:
        args = [list(tensors.values())] if e.listed else tensors.values()
        out = (e.use or getattr(ops, name))(*args, **e.attrs)
        return {f"y{i}": t for i, t in enumerate(out if isinstance(out, tuple) else (out,))}

    specs = {k: dinoml.TensorSpec(a.shape, str(a.dtype)) for k, a in arrays.items()}
    got = evaluate(dinoml.trace(model, inputs=specs).graph, arrays)
    want = opinion(e.call, [wide(a, str(a.dtype)) for a in arrays.values()], e.attrs, e.listed)
    found = differences(tuple(got.values()), want, exact=False)
    assert not found, "; ".join(found)
