"""Every operator's own cases: definitions and expansions give what the reference gives, and wrong answers do not pass."""

from __future__ import annotations

import itertools

import definitions
import numpy as np
import pytest

from dinoml import operators
from dinoml.compare import compare
from dinoml.ir import dtypes, intexpr
from dinoml.operators.cases import Case, cases
from dinoml.operators.evaluate import concrete, evaluate, wide
from dinoml.operators.operator import node_call

NAMES = operators.names()


def _check(case: Case, got: np.ndarray, want: np.ndarray, dtype: str, extra: float = 0.0) -> bool:
    override = case.operator.spec.tolerance.get(dtype)
    return bool(
        compare(
            got,
            want,
            dtype=dtype,
            exact=case.operator.kind == "view",
            reduction_length=case.reduction_length(),
            limit_override=None if override is None else float(override) + extra,
        )
    )


def _outputs(case: Case) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    fn = case.graph().functions[0]
    return evaluate(fn, case.arrays(), dims=case.dims), {o.name: fn.types[o.value].dtype for o in fn.outputs}


@pytest.mark.parametrize("name", NAMES)
def test_definition_matches_reference(name: str) -> None:
    matrix = list(cases(operators.get(name)))
    assert matrix, f"{name} has no cases"
    for case in matrix:
        fn = case.graph().functions[0]
        arrays = case.arrays()
        want = evaluate(fn, arrays, dims=case.dims)
        got = definitions.run(definitions.expand(fn), arrays, case.dims)
        for o in fn.outputs:
            override = case.operator.spec.tolerance.get(fn.types[o.value].dtype)
            result = compare(
                got[o.name],
                want[o.name],
                dtype=fn.types[o.value].dtype,
                exact=case.operator.kind == "view",
                reduction_length=case.reduction_length(),
                limit_override=None if override is None else float(override),
            )
            assert result, f"{name} {case.label} {o.name}: {result.message}"


def _wrong(want: np.ndarray, inputs: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return answers that a broken kernel could give."""
    if want.size == 0:
        return {}
    panel = {"zeros": np.zeros_like(want)}
    if want.size > 1:
        panel["shift"] = np.roll(want.reshape(-1), 1).reshape(want.shape)
        if want.dtype.kind == "f":
            panel["mean"] = np.full_like(want, np.mean(want[np.isfinite(want)]) if np.isfinite(want).any() else 0.0)
    for i, x in enumerate(inputs):
        if x.shape == want.shape and x.dtype.kind == want.dtype.kind:
            panel[f"input {i}"] = x
    return panel


# What an operator may legitimately return for every case: its input, a constant, a shifted constant.
_ALLOWED = {
    "identity": {"input 0"}, "zeros": {"zeros", "shift", "mean"}, "zeros_like": {"zeros", "shift", "mean"}, "ones": {"shift", "mean"},
    "ones_like": {"shift", "mean"}, "full": {"shift", "mean"}, "full_like": {"shift", "mean"}, "extent": {"shift"},
    "cast": {"input 0"}, "expand": {"input 0"}, "concatenate": {"input 0", "input 1"}, "repeat_interleave": {"input 0"},
    "squeeze": {"input 0"}, "unsqueeze": {"input 0"},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_wrong_answers_fail(name: str) -> None:
    survivors: dict[str, str] = {}
    caught: set[str] = set()
    for case in cases(operators.get(name)):
        fn = case.graph().functions[0]
        arrays = case.arrays()
        want, kinds = _outputs(case)
        inputs = [wide(arrays[n], t.dtype) for n, _, t in case.inputs()]
        first = fn.outputs[0].name
        for label, answer in _wrong(want[first], inputs).items():
            stored = np.asarray(answer).astype(dtypes.numpy_dtype(kinds[first]))
            if _check(case, stored, want[first], kinds[first]):
                survivors[label] = case.label
            else:
                caught.add(label)
    missed = set(survivors) - caught - _ALLOWED.get(name, set())
    assert not missed, f"{name}: no case catches {sorted(missed)}, for example {survivors}"


@pytest.mark.parametrize("name", [n for n in NAMES if operators.get(n).kind == "view" and hasattr(operators.get(n).module, "place")])
def test_place_inverts_define(name: str) -> None:
    for case in cases(operators.get(name)):
        fn = case.graph().functions[0]
        (node,) = fn.nodes[:1]
        op = operators.get(name)
        call = node_call(op, node, fn.types)
        source = fn.types[node.inputs[0]]
        shape = concrete(source.shape, case.dims)
        symbols = [intexpr.Symbol(f"c{i}", extent=d) for i, d in enumerate(source.shape)]
        placed = op.place(call, 0, symbols)
        assert placed is not None
        out_shape = concrete(fn.types[node.outputs[0]].shape, case.dims)
        array = case.arrays()[node.inputs[0]]
        want = evaluate(fn, {node.inputs[0]: array}, dims=case.dims)["y0"]
        seen = set()
        for at in itertools.product(*(range(n) for n in shape)):
            env = {**case.dims, **{f"c{i}": v for i, v in enumerate(at)}}
            target = tuple(int(intexpr.evaluate(p, env)) for p in placed)
            assert all(0 <= v < n for v, n in zip(target, out_shape, strict=True)), (case.label, at, target)
            assert want[target] == wide(array, source.dtype)[at]
            seen.add(target)
        assert len(seen) == int(np.prod(out_shape)), f"{case.label}: not onto"
