"""Executing lowered kernels with NumPy: the same accessors that are rendered, evaluated over their whole domain.

Used to check fusion and index maps without a compiler. Values are computed in the compute dtypes (float32 by default, or
float64 with `wide=True`, then for float32 buffers too); buffers hold storage dtypes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dinoml.ir import dtypes, intexpr
from dinoml.ir import expr as ex
from dinoml.ir.expr import Expr
from dinoml.ir.graph import TensorType
from dinoml.ir.intexpr import IntLike, Opaque
from dinoml.ir.primitives import PRIMITIVES
from dinoml.lowering.kernels import Kernel, LoadAccessor, MapAccessor, PackedOperand, StoreAccessor, StridedOperand, Write
from dinoml.lowering.lower import POINTWISE, LoweredFunction
from dinoml.lowering.templates import template

Array = np.ndarray[Any, Any]


class Evaluator:
    """Evaluates expressions over the grid of one port."""

    def __init__(
        self, buffers: Mapping[str, Array], dims: Mapping[str, int], extents: tuple[int, ...], wide: bool, value: Array | None = None
    ) -> None:
        self.buffers, self.wide, self.value = buffers, wide, value
        self.shape = extents
        self.env: dict[str, Any] = dict(dims)
        for i, e in enumerate(extents):
            self.env[f"c{i}"] = np.arange(e, dtype=np.int64).reshape([-1 if k == i else 1 for k in range(len(extents))])
        self.memo: dict[Expr, Array] = {}

    def dtype(self, name: str) -> np.dtype[Any]:
        return np.dtype(np.float64) if self.wide and name == "float32" else dtypes.numpy_dtype(name)

    def integer(self, x: IntLike) -> Any:
        return intexpr.evaluate(x, self.env, self._opaque)

    def _opaque(self, o: Opaque) -> Any:
        extent = self.integer(o.extent)
        return np.clip(self(o.payload.expr), 0, np.maximum(extent - 1, 0)).astype(np.int64)

    def __call__(self, x: Expr) -> Array:
        if x not in self.memo:
            with np.errstate(all="ignore"):
                self.memo[x] = self._eval(x)
        return self.memo[x]

    def _eval(self, x: Expr) -> Array:
        match x:
            case ex.Const():
                return np.asarray(x.value, self.dtype(x.dtype))
            case ex.Index():
                return np.asarray(self.integer(x.value)).astype(self.dtype(x.dtype))
            case ex.Input():
                assert self.value is not None
                return self.value
            case ex.Read():
                return self._read(x)
            case ex.Cast():
                return _cast(self(x.arg), self.dtype(x.dtype))
            case ex.Round():
                return self(x.arg).astype(dtypes.numpy_dtype(x.storage)).astype(self.dtype(x.dtype))
            case ex.Where():
                return np.where(self(x.mask), self(x.a), self(x.b))
            case ex.Select():
                return np.where(self._holds(x.conditions), self(x.a), self(x.b))
        out = PRIMITIVES[x.fn].numpy(*(self(a) for a in x.args))
        return np.asarray(np.asarray(out).astype(self.dtype(x.dtype)))

    def _holds(self, conditions: tuple[IntLike, ...]) -> Any:
        ok: Any = True
        for c in conditions:
            ok = ok & (np.asarray(self.integer(c)) >= 0)
        return ok

    def _read(self, r: ex.Read) -> Array:
        flat = self.buffers[r.source].reshape(-1)
        offset = np.asarray(self.integer(r.index[0]))
        want = self.dtype(r.dtype)
        if 0 in self.shape:  # no coordinate is visited, whatever the offset
            return np.zeros(self.shape, want)
        if not r.guard:
            if offset.size and (offset.min() < 0 or offset.max() >= flat.size):
                raise IndexError(f"{ex.show(r)} leaves its buffer of {flat.size} elements ({offset.min()}..{offset.max()})")
            return np.asarray(flat[offset].astype(want))
        ok = self._holds(r.guard)
        ok, offset = np.broadcast_arrays(ok, offset)
        inside = offset[ok]
        if inside.size and (inside.min() < 0 or inside.max() >= flat.size):
            raise IndexError(f"{ex.show(r)} leaves its buffer of {flat.size} elements inside its guard")
        out = np.zeros(offset.shape, want)
        out[ok] = flat[inside].astype(want)
        return out


def _cast(x: Array, to: np.dtype[Any]) -> Array:
    if to == np.bool_:
        return np.asarray(x != 0)
    if np.issubdtype(x.dtype, np.floating) and np.issubdtype(to, np.integer):
        info = np.iinfo(to)
        clean = np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0, posinf=float(info.max), neginf=float(info.min))
        big = clean >= float(info.max)
        return np.where(big, info.max, np.clip(clean, float(info.min), float(info.max) * (1 - 2**-52)).astype(to)).astype(to)
    return x.astype(to)


class Executor:
    """Runs the kernels of a lowered function on NumPy buffers."""

    def __init__(self, lowered: LoweredFunction, wide: bool = False) -> None:
        self.lowered, self.wide = lowered, wide

    def __call__(self, inputs: Mapping[str, Array], dims: Mapping[str, int]) -> dict[str, Array]:
        """Return all buffers after the run; `inputs` holds inputs, constants and states by value name."""
        fn = self.lowered.function
        buffers = {k: np.ascontiguousarray(v) for k, v in inputs.items()}
        sizes = dict(dims)
        sizes.update({s.name: s.hi for t in fn.types.values() for e in t.shape for s in intexpr.symbols(e) if s.name in fn.extents})  # capacities
        for name, t in self.lowered.buffers.items():
            if name not in buffers:
                shape = tuple(intexpr.evaluate(e, sizes) for e in t.shape)
                buffers[name] = _poison(shape, np.dtype(self._dtype(t.dtype)))
        for kernel in self.lowered.kernels:
            self._run(kernel, buffers, sizes)
            sizes.update({d: int(buffers[v]) for d, v in fn.extents.items() if v in kernel.outputs})
        return {k: _filled(v, fn.types.get(k), sizes) for k, v in buffers.items()} if fn.extents else buffers

    def _run(self, k: Kernel, buffers: dict[str, Array], dims: Mapping[str, int]) -> None:
        sizes = tuple(intexpr.evaluate(d, dims) for d in k.dims)
        if k.template == POINTWISE:
            port = k.ports[0]
            assert isinstance(port, StoreAccessor)
            self._store(port.writes, self._evaluator(port.coords, buffers, dims), buffers)
            return
        arrays: list[Any] = []
        for port in k.ports:
            if isinstance(port, LoadAccessor):
                e = self._evaluator(port.coords, buffers, dims)
                arrays.append(np.broadcast_to(e(port.expr), e.shape))
                self._store(port.side, e, buffers)
            elif isinstance(port, StridedOperand):
                e = self._evaluator(port.coords, buffers, dims)
                offset: IntLike = port.base
                for c, s in zip(port.coords, port.strides):
                    offset = intexpr.add(offset, intexpr.mul(c, s))
                arrays.append(np.broadcast_to(e(ex.Read(port.source, port.storage, (offset,))), e.shape))
            elif isinstance(port, PackedOperand):
                arrays.append((buffers[port.source], tuple(intexpr.evaluate(s, dims) for s in port.strides)))
            elif isinstance(port, MapAccessor):
                arrays.append(self._mapper(port, buffers, dims))
        scalars = {name: intexpr.evaluate(v, dims) if isinstance(v, intexpr.IntExpr) else v for name, v in k.scalars}
        results = template(k.template).numpy(arrays, sizes, {**dict(k.params), **scalars})
        stores = [p for p in k.ports if isinstance(p, StoreAccessor)]
        for port, result in zip(stores, results, strict=True):
            e = self._evaluator(port.coords, buffers, dims, np.asarray(result).astype(self._dtype(port.dtype)))
            self._store(port.writes, e, buffers)

    def _dtype(self, name: str) -> Any:
        return np.float64 if self.wide and name == "float32" else dtypes.numpy_dtype(name)

    def _mapper(self, port: MapAccessor, buffers: dict[str, Array], dims: Mapping[str, int]) -> Any:
        def apply(value: Array) -> Array:
            if port.expr is None:
                return value
            e = self._evaluator(port.coords, buffers, dims, value)
            return np.broadcast_to(e(port.expr), value.shape)

        return apply

    def _evaluator(self, coords: Any, buffers: dict[str, Array], dims: Mapping[str, int], value: Array | None = None) -> Evaluator:
        extents = tuple(intexpr.evaluate(c.extent, dims) for c in coords)
        return Evaluator(buffers, dims, extents, self.wide, value)

    def _store(self, writes: tuple[Write, ...], e: Evaluator, buffers: dict[str, Array]) -> None:
        for w in writes:
            offset = np.broadcast_to(np.asarray(e.integer(w.offset)), e.shape)
            value = np.broadcast_to(e(w.expr), e.shape)
            target = buffers[w.target].reshape(-1)
            if offset.size and (offset.min() < 0 or offset.max() >= target.size):
                raise IndexError(f"write to {w.target} leaves its buffer")
            target[offset.reshape(-1)] = value.reshape(-1).astype(target.dtype)


def _filled(buffer: Array, t: TensorType | None, sizes: Mapping[str, int]) -> Array:
    """Return what a buffer holds once the data-dependent extents are known."""
    if t is None:
        return buffer
    shape = tuple(intexpr.evaluate(e, sizes) for e in t.shape)
    return buffer.reshape(-1)[: int(np.prod(shape, dtype=np.int64))].reshape(shape)


def _poison(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    out = np.empty(shape, dtype)
    out.reshape(-1).view(np.uint8)[:] = 0xC9
    if dtype == np.bool_:
        out[...] = True
    return out
