"""Turning fused groups into kernels over at most four coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dinoml.ir import dtypes, intexpr
from dinoml.ir import expr as ex
from dinoml.ir.expr import Expr
from dinoml.ir.graph import Function, TensorType
from dinoml.ir.intexpr import IntLike, Symbol
from dinoml.lowering import fit
from dinoml.lowering.context import LoweringContext
from dinoml.lowering.forms import Form, Load, Map, Store, linear
from dinoml.lowering.fusion import Fusion, Group, partition
from dinoml.lowering.inline import flatten
from dinoml.lowering.kernels import SLOTS, Kernel, LoadAccessor, MapAccessor, PackedOperand, Port, StoreAccessor, StridedOperand, Write

POINTWISE = "pointwise"


@dataclass(frozen=True)
class LoweredFunction:
    """A function as kernels in execution order; `types` has every buffer that they read or write."""

    function: Function
    kernels: tuple[Kernel, ...]

    @property
    def buffers(self) -> dict[str, TensorType]:
        """Types of all values that exist in memory, in order of first use."""
        names = dict.fromkeys(v for k in self.kernels for v, _, _ in k.operands)
        return {v: self.function.types[v] for v in names}


def lower_function(ctx: LoweringContext, fn: Function, fuse: bool = True) -> LoweredFunction:
    """Return the kernels of a function; `fuse=False` materialises every value (the reference for fusion tests)."""
    fusion, groups = partition(ctx, fn, fuse)
    return LoweredFunction(fn, tuple(_Builder(ctx, fusion, g).kernel() for g in groups))


class _Builder:
    """Builds the kernel of one group."""

    def __init__(self, ctx: LoweringContext, fusion: Fusion, group: Group) -> None:
        self.ctx, self.fusion, self.group = ctx, fusion, group
        self.fn = fusion.fn
        self.covered: dict[str, None] = {}

    def type_of(self, value: str) -> TensorType:
        return self.fn.types[value]

    def kernel(self) -> Kernel:
        kernel = self._pointwise() if self.group.anchor is None else self._anchored(self.group.form)
        nodes = self._nodes()
        position = self.fusion.position
        first = self.group.anchor or max(nodes, key=lambda n: position[n.id])
        reasons = tuple(self.group.reasons) + tuple((v, r) for v, r in self.fusion.reasons.items() if v in kernel.outputs)
        return replace(
            kernel,
            nodes=tuple(n.id for n in nodes),
            ops=tuple(n.op for n in nodes),
            source=first.source,
            reasons=tuple(dict.fromkeys(reasons)),
        )

    def _nodes(self) -> list:  # type: ignore[type-arg]
        """Return the graph nodes this kernel covers: the anchor and every node inlined into it."""
        out = {}
        stack = list(self.group.outputs) + ([p.value for p in self.group.form.loads] if self.group.form else [])
        stack += [
            s
            for p in (self.group.form.ports if self.group.form else ())
            if isinstance(p, Map) and p.expr is not None
            for s in {r.source for r in ex.reads(p.expr)}
        ]
        own = set(self.group.outputs)
        seen: set[str] = set()
        while stack:
            v = stack.pop()
            node = self.fn.producers.get(v)
            if v in seen or node is None:
                continue
            seen.add(v)
            if node is self.group.anchor or (self.fusion.is_expr(v) and (v in self.fusion.virtual or v in own)):
                out[node.id] = node
                if node is not self.group.anchor:
                    stack += node.uses
        if self.group.anchor is not None:
            out[self.group.anchor.id] = self.group.anchor
        return sorted(out.values(), key=lambda n: self.fusion.position[n.id])

    # -- pointwise ---------------------------------------------------------------------------------------------------
    def _pointwise(self) -> Kernel:
        first = self.group.sinks[0][0]
        outer = tuple(s for s in self.group.index[first] if isinstance(s, Symbol))
        writes = [self._write(v, None) for v in self.group.sinks[0]]
        fitted = fit.fit(outer, SLOTS, _integers(writes))
        coords = _coords(fitted.extents, (), 4)
        port = StoreAccessor("body", coords, "", tuple(_rename(w, fitted) for w in writes))
        return Kernel(POINTWISE, (port,), fitted.extents)

    def _write(self, value: str, result: tuple[str, Expr] | None) -> Write:
        """Return the write of a sink; `result` is the anchor's result and the expression of the template's value for it."""
        t = self.type_of(value)
        index = self.group.index[value]
        given = {result[0]: result[1]} if result else {}
        others = frozenset(v for v in self.group.outputs if v != value and self.fusion.is_expr(v) and v not in self.group.side)
        if result and value == result[0]:
            tree: Expr = given[value]
        else:
            tree = self.fusion.inliner(also=others, given=given)(self.fusion.define(value, index))
        tree = ex.cast(tree, dtypes.compute_dtype(t.dtype))
        while isinstance(tree, ex.Round) and tree.storage == t.dtype:
            tree = tree.arg  # the store rounds
        return Write(value, t.dtype, linear(index, t.shape), flatten(tree, self.type_of))

    # -- anchored ------------------------------------------------------------------------------------------------------
    def _anchored(self, form: Form | None) -> Kernel:
        assert form is not None
        drafts: list[Port] = []
        position = 0
        for port in form.ports:
            if isinstance(port, Load):
                drafts.append(self._load(port, form))
            elif isinstance(port, Map):
                drafts.append(self._map(port))
            else:
                drafts.append(self._store(port, position))
                position += 1
        fitted = fit.fit(form.outer, form.outer_slots, [i for d in drafts for i in _port_integers(d, form)])
        ports = tuple(self._finish(d, p.tail, form, fitted) for d, p in zip(drafts, form.ports))
        return Kernel(
            form.template, ports, fitted.extents + form.tail, form.params, form.scalars,
            reduction=form.reduction, flops=form.flops, extents=form.extents,
        )  # fmt: skip

    def _load(self, port: Load, form: Form) -> Port:
        storage = self.type_of(port.value).dtype
        if port.accepts != "generic":
            return self._raw(port, form)
        read: Expr = ex.Read(port.value, storage, port.index, port.guard)
        side: tuple[Write, ...] = ()
        also = frozenset(self.group.side if port.name == self.group.side_port else ())
        tree = self.fusion.inliner(also=also)(read)
        if also:
            t = self.type_of(port.value)
            side = (Write(port.value, t.dtype, linear(port.index, t.shape), flatten(tree, self.type_of)),)
            if dtypes.nbytes(storage) < dtypes.nbytes(tree.dtype) and tree.dtype == "float32":
                tree = ex.Round(tree, storage)  # this kernel sees what the other readers of the stored value will see
        if port.guard:
            tree = ex.select(port.guard, tree, ex.typed_const(port.fill, tree.dtype))
        tree = ex.cast(tree, port.dtype or tree.dtype)
        return LoadAccessor(port.name, port.tail, flatten(tree, self.type_of), side)

    def _raw(self, port: Load, form: Form) -> Port:
        read = self.ctx.raw_read(self.fn, port, self.fusion.is_expr, self.fusion.forced, self.fusion.fuse)
        found = self.ctx.affine(self.fn, read, port)
        if found is None:
            raise AssertionError(f"{form.template}.{port.name}: {port.value} should have been copied")
        base, strides = found
        order = (*form.outer, *port.tail)
        per = tuple(strides.get(s, 0) for s in order)
        if port.accepts == "packed":
            return PackedOperand(port.name, read.source, read.storage, per[: len(form.outer)])
        # Strides are carried as an offset polynomial until the outer coordinates are fitted.
        offset: IntLike = base
        for s, k in zip(order, per):
            offset = intexpr.add(offset, intexpr.mul(s, k))
        return StridedOperand(port.name, (), read.source, read.storage, offset, (0, 0, 0, 0))

    def _map(self, port: Map) -> Port:
        if port.expr is None:
            return MapAccessor(port.name, (), None)
        return MapAccessor(port.name, (), flatten(self.fusion.inliner()(port.expr), self.type_of))

    def _store(self, port: Store, position: int) -> Port:
        assert self.group.anchor is not None
        result = self.group.anchor.outputs[port.output]
        value = self.fusion.inliner()(port.expr) if port.expr is not None else ex.Input("value", port.dtype)
        writes = tuple(self._write(v, (result, value)) for v in self.group.sinks[position])
        return StoreAccessor(port.name, port.tail, port.dtype, writes)

    def _finish(self, draft: Port, tail: tuple[Symbol, ...], form: Form, fitted: fit.Fitted) -> Port:
        """Move a port to the kernel coordinates."""
        extents = tuple(s.extent for s in tail)
        coords = _coords(fitted.extents, extents, form.outer_slots)  # type: ignore[arg-type]
        table = {**fitted.substitute, **dict(zip(tail, coords[form.outer_slots :]))}
        sub = table.get
        match draft:
            case LoadAccessor():
                return LoadAccessor(draft.name, coords, fit.rename(draft.expr, sub), tuple(_rename(w, sub) for w in draft.side))
            case StoreAccessor():
                return StoreAccessor(draft.name, coords, draft.dtype, tuple(_rename(w, sub) for w in draft.writes))
            case MapAccessor():
                return MapAccessor(draft.name, coords, None if draft.expr is None else fit.rename(draft.expr, sub))
            case StridedOperand():
                return _strided(draft, coords, intexpr.substitute(draft.base, sub))
            case PackedOperand():
                offset = _packed_offset(draft, [table[s] for s in form.outer])
                return PackedOperand(draft.name, draft.source, draft.storage, tuple(_coefficient(offset, c) for c in coords[: form.outer_slots]))


def _strided(draft: StridedOperand, coords: tuple[Symbol, ...], offset: IntLike) -> StridedOperand:
    per = tuple(_coefficient(offset, c) for c in coords)
    for c, k in zip(coords, per):
        offset = intexpr.add(offset, intexpr.mul(-1, intexpr.mul(k, c)))
    per = per + (0,) * (SLOTS - len(per))
    return StridedOperand(draft.name, coords, draft.source, draft.storage, offset, per)  # type: ignore[arg-type]


def _coefficient(offset: IntLike, c: Symbol) -> IntLike:
    k = fit.coefficient(offset, c)
    if k is None:
        raise AssertionError(f"raw operand is not affine in {c}: {offset}")
    return k


def _coords(outer: tuple[IntLike, ...], tail: tuple[IntLike, ...], slots: int) -> tuple[Symbol, ...]:
    full = (*outer, *tail)
    full = full + (1,) * (SLOTS - len(full))
    return tuple(Symbol(f"c{i}", extent=e) for i, e in enumerate(full))


def _rename(w: Write, sub: fit.Substitution) -> Write:
    return Write(w.target, w.storage, intexpr.recombine(intexpr.substitute(w.offset, sub)), fit.rename(w.expr, sub))


def _integers(writes: Iterable[Write]) -> list[IntLike]:
    return [i for w in writes for i in (w.offset, *fit.integers(w.expr))]


def _port_integers(port: Port, form: Form) -> list[IntLike]:
    match port:
        case LoadAccessor():
            return fit.integers(port.expr) + _integers(port.side)
        case StoreAccessor():
            return _integers(port.writes)
        case MapAccessor():
            return [] if port.expr is None else fit.integers(port.expr)
        case StridedOperand():
            return [port.base]
        case PackedOperand():
            return [_packed_offset(port, form.outer)]


def _packed_offset(port: PackedOperand, at: Iterable[IntLike]) -> IntLike:
    """Return the offset of the panels that belong to outer coordinates."""
    offset: IntLike = 0
    for s, k in zip(at, port.strides):
        offset = intexpr.add(offset, intexpr.mul(s, k))
    return offset
