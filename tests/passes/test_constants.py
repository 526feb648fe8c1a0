"""The constant program: what weights alone determine is stored, and computed again when a weight is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import casework
from support.samples import TARGET, Library, Sample, library, report, run_native, run_numpy

from dinoml import Dim, Module, Parameter, TensorSpec, compiler, operators, ops, runtime, trace
from dinoml.compare import compare
from dinoml.ir import dtypes
from dinoml.operators.cases import Case
from dinoml.operators.evaluate import evaluate
from dinoml.passes import run_passes
from dinoml.passes.constants import run_constant_program

Array = np.ndarray[Any, Any]
N = Dim("n", min=1, max=40)


# -- operators with weights that are constants ------------------------------------------------------------------------


def _with_weights(case: Case) -> Sample:
    """Return the case with all inputs but the first as constants: weights are then packed, folded or read as they are."""
    plain = casework.plain(case)
    (first, *rest) = plain.specs
    weights = {name: Parameter(list(plain.arrays[name].shape), plain.specs[name].dtype, value=plain.arrays[name]) for name in rest}

    def model(**tensors: Any) -> Any:
        moving = {k: v for k, v in tensors.items() if k == first}
        return plain.model(**{**moving, **{k: next(iter(moving.values())).builder.lift(w) for k, w in weights.items()}})

    return Sample(f"{plain.label} with weights", model, {first: plain.specs[first]}, {first: plain.arrays[first]}, plain.dims, plain.tolerance)


def _weighted(name: str) -> Iterator[Sample]:
    for case in casework.compiled(operators.get(name)):
        static = all(isinstance(e, int) for t in case.types[1:] if t is not None for e in t.shape)
        if static and len(case.inputs()) > 1:
            yield _with_weights(case)


WEIGHTED = ["gemm", "linear", "conv2d", "embedding", "layer_norm", "gemm_epilogue", "scaled_dot_product_attention"]


@pytest.mark.parametrize("name", WEIGHTED)
def test_constant_operands_with_numpy(name: str) -> None:
    failures = run_numpy(library(_weighted(name), name))
    assert not failures, report(failures)


@pytest.mark.parametrize("name", ["gemm", "conv2d", "embedding"])
def test_constant_operands_compiled(name: str, tmp_path: Path) -> None:
    failures = run_native(library(_weighted(name), name), tmp_path)
    assert not failures, report(failures)


# -- one model: folding, packing, merging, replacing ------------------------------------------------------------------


class _Model(Module):
    """Three products that become one, a folded bias, a transposed weight, a weight that is used as it is."""

    def __init__(self, dtype: str = "float32") -> None:
        for name in ("q", "k", "v"):
            setattr(self, name, Parameter([24, 24], dtype))
            setattr(self, f"{name}_bias", Parameter([24], dtype))
        self.out = Parameter([24, 40], dtype)
        self.scale = Parameter([40], dtype)
        self.shift = Parameter([40], dtype)

    def forward(self, x):  # type: ignore[no-untyped-def]
        def heads(t):  # type: ignore[no-untyped-def]
            return ops.permute(ops.reshape(t, (N, 3, 8)), (1, 0, 2))

        q, k, v = (heads(ops.linear(x, getattr(self, n), getattr(self, f"{n}_bias"))) for n in ("q", "k", "v"))
        y = ops.gemm(ops.softmax(ops.gemm(q, k, b_layout="c") * 0.3), v)
        y = ops.reshape(ops.permute(y, (1, 0, 2)), (N, 24))
        return {"y": ops.gemm(y, self.out) + (self.shift * 2.0 + 1.0) * self.scale, "plain": x[:, 0:1] * self.scale}


@dataclass
class _Built:
    spec: Any
    constants: dict[str, Array]
    path: Path


def _values(seed: int, dtype: str = "float32") -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    shapes = dict.fromkeys("qkv", (24, 24)) | {f"{n}_bias": (24,) for n in "qkv"} | {"out": (24, 40), "scale": (40,), "shift": (40,)}
    return {n: (rng.standard_normal(s) * 0.3).astype(dtypes.numpy_dtype(dtype)) for n, s in shapes.items()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> _Built:
    constants = _values(0)
    spec = trace(_Model(), inputs={"x": TensorSpec([N, 24])}, constants=constants, name="merged")
    path = compiler.compile(spec, TARGET, tmp_path_factory.mktemp("merged") / "merged.dinoml").path
    return _Built(spec, constants, path)


def test_products_of_one_operand_are_merged(built: _Built) -> None:
    g, _ = run_passes(built.spec.graph, TARGET)
    products = [n for n in g.functions[0].nodes if n.op.startswith("gemm")]
    assert len(products) == 4  # q, k, v together; scores; values; out
    assert g.constant_program is not None
    assert {"q", "k", "v", "q_bias", "k_bias", "v_bias", "shift"} <= set(g.constant_program.inputs)


def test_nothing_is_computed_from_constants_alone(built: _Built) -> None:
    g, _ = run_passes(built.spec.graph, TARGET)
    f = g.functions[0]
    constant = set(f.constants)
    for n in f.nodes:
        if n.uses and all(i in constant for i in n.uses) and operators.get(n.op).kind != "view":
            pytest.fail(f"{n.id} ({n.op}) depends on constants only")


def test_unused_sources_are_not_stored(built: _Built) -> None:
    g, _ = run_passes(built.spec.graph, TARGET)
    stored = {c.name for c in g.constants}
    assert "scale" in stored and not {"q", "k", "v", "shift"} & stored


def _check(session: runtime.Session, spec: Any, constants: dict[str, Array]) -> None:
    x = np.random.default_rng(1).standard_normal((17, 24)).astype(np.float32)
    want = evaluate(spec.graph, {"x": x}, constants)
    got = session.run_numpy({"x": x})
    for name, w in want.items():
        result = compare(got[name], w, reduction_length=24 * 24)
        assert result, f"{name}: {result.message}"


def test_stored_constants_are_what_the_model_says(built: _Built) -> None:
    with runtime.load(built.path) as module:
        _check(module.create_session(), built.spec, built.constants)


def test_replacing_weights_at_run_time_gives_the_new_model(built: _Built) -> None:
    with runtime.load(built.path) as module:
        session = module.create_session()
        new = _values(7)
        module.set_constants(new)
        _check(session, built.spec, new)
        with pytest.raises(runtime.errors.ConstantsNotLoadedError, match='"q", "v"'):
            module.set_constants({"k": built.constants["k"]})
        _check(session, built.spec, new)
        part = {n: built.constants[n] for n in ("q", "k", "v", "scale", "shift")}
        module.set_constants(part)
        _check(session, built.spec, {**new, **part})
        module.load_constants()
        _check(session, built.spec, built.constants)


def test_the_native_constant_program_equals_the_compilers(built: _Built, tmp_path: Path) -> None:
    """A module whose weights were replaced answers bit for bit like one that was compiled with them."""
    new = _values(11)
    spec = built.spec.clone()
    spec.bind_constants(new)
    other = compiler.compile(spec, TARGET, tmp_path / "other.dinoml").path
    x = np.random.default_rng(2).standard_normal((5, 24)).astype(np.float32)
    with runtime.load(built.path) as a, runtime.load(other) as b:
        a.set_constants(new)
        left, right = a.create_session().run_numpy({"x": x}), b.create_session().run_numpy({"x": x})
    for name in left:
        assert left[name].tobytes() == right[name].tobytes(), name


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_weights(dtype: str, tmp_path: Path) -> None:
    constants = _values(3, dtype)
    x = np.random.default_rng(1).standard_normal((6, 24)).astype(dtypes.numpy_dtype(dtype))
    spec = trace(_Model(dtype), inputs={"x": TensorSpec([N, 24], dtype)}, constants=constants, name="narrow")
    lib = Library(spec, (Sample("narrow", None, {}, {"x": x}, {"n": 6}, tolerance=_loose()),), ("main",))  # type: ignore[arg-type]
    failures = run_native(lib, tmp_path)
    assert not failures, report(failures)


def _loose() -> Any:
    from support.samples import Tolerance

    return Tolerance(roundings=4)


def test_equal_computations_of_several_functions_are_stored_once() -> None:
    model = _Model()
    both = {"main": (model.forward, {"x": TensorSpec([N, 24])}), "again": (model.forward, {"x": TensorSpec([N, 24])})}
    spec = trace(model, functions=both, constants=_values(0), name="twice")
    one, _ = run_passes(trace(model, inputs={"x": TensorSpec([N, 24])}, constants=_values(0)).graph, TARGET)
    two, _ = run_passes(spec.graph, TARGET)
    assert [c.name for c in two.constants] == [c.name for c in one.constants]
    stored = run_constant_program(two, {k: np.asarray(v) for k, v in spec.constants.items()})
    assert set(stored) == {c.name for c in two.constants}
