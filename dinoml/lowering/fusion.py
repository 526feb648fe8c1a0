"""Deciding which values exist in memory and which kernel computes what.

A value is *virtual* when its consumers compute it in place, *materialised* otherwise. Kernel nodes are anchors: pointwise
and view nodes around them are absorbed as prologue (virtual values read by a load port), as epilogue (sinks written by a
store port) or as side outputs. What remains becomes pointwise groups. This is the one place with a cost rule, and every
refusal is recorded with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dinoml.ir import expr as ex
from dinoml.ir import intexpr
from dinoml.ir.expr import Expr
from dinoml.ir.graph import Function, Node, TensorType
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.context import LoweringContext
from dinoml.lowering.fit import integers
from dinoml.lowering.forms import Form, Load, Store, linear
from dinoml.lowering.inline import Inliner

MANY_COST = 6  # arithmetic per element that may be repeated by a port that evaluates elements many times
FEW_COST = 40
SELECT_COST = 12  # arithmetic that may be evaluated in vain on the other side of a concatenation
MAX_SINKS = 4
MAX_CHAIN = 96  # nodes that one chain may compute in place: bounds the size of generated code


@dataclass
class Group:
    """One kernel to be: an anchor with its form (None: pointwise), the values its stores write, side outputs of its load."""

    anchor: Node | None
    form: Form | None
    sinks: dict[int, list[str]] = field(default_factory=dict)  # store position -> values written there
    index: dict[str, tuple[IntLike, ...]] = field(default_factory=dict)  # index of each sink over the store's coordinates
    side: list[str] = field(default_factory=list)
    side_port: str = ""
    needs: set[str] = field(default_factory=set)  # what epilogues read besides the kernel's own results
    reasons: list[tuple[str, str]] = field(default_factory=list)

    @property
    def outputs(self) -> list[str]:
        return [v for vs in self.sinks.values() for v in vs] + self.side


class Fusion:
    """Partition of one function. Use `partition(context, function)`."""

    def __init__(self, ctx: LoweringContext, fn: Function, fuse: bool = True) -> None:
        self.ctx, self.fn, self.fuse = ctx, fn, fuse
        self.kernels = {n.id: ctx.form(fn, n) for n in fn.nodes if ctx.is_kernel(n)}
        self.position = {n.id: i for i, n in enumerate(fn.nodes)}
        self.virtual: set[str] = set()
        self.forced: set[str] = set()
        self.reasons: dict[str, str] = {}
        self.home: dict[str, frozenset[str]] = {}
        self.groups: list[Group] = []
        self.group_of: dict[str, Group] = {}
        self._ancestors: dict[str, int] = {}  # bit sets over values
        self._bits: dict[str, int] = {}
        self._chain: dict[str, tuple[int, int]] = {}  # cost and nodes from a virtual value to where it is consumed

    # -- facts -------------------------------------------------------------------------------------------------------
    def type_of(self, value: str) -> TensorType:
        return self.fn.types[value]

    def is_expr(self, value: str) -> bool:
        """Whether a pointwise or view node makes the value."""
        node = self.fn.producers.get(value)
        return node is not None and node.id not in self.kernels

    def define(self, value: str, index: tuple[IntLike, ...]) -> Expr:
        """Return the definition of an expression value at an index."""
        node = self.fn.producers[value]
        return self.ctx.define(self.fn, node, value, index)

    def body(self, value: str) -> Expr:
        """Return the definition at generic coordinates with virtual producers expanded."""
        t = self.type_of(value)
        index = tuple(intexpr.Symbol(f"x{i}", extent=e) for i, e in enumerate(t.shape))
        return self.inliner()(self.define(value, index))

    def inliner(self, keep: frozenset[str] = frozenset(), also: frozenset[str] = frozenset(), given: dict[str, Expr] | None = None) -> Inliner:
        return Inliner(lambda v: (v in self.virtual or v in also) and v not in keep and self.is_expr(v), self.define, given)

    def free(self, value: str) -> bool:
        """Whether computing the value in place costs no arithmetic to speak of."""
        x = self.body(value)
        return ex.cost(x) == 0 and len(ex.reads(x)) <= 1

    def depends(self, value: str, on: str) -> bool:
        """Return whether `value` is made from `on`."""
        return value != on and bool(self._above(value) & self._bits[on])

    def _above(self, value: str) -> int:
        """Return the set of `value` and all that it is made from."""
        if not self._bits:
            bit = {v: 1 << i for i, v in enumerate(self.fn.types)}
            for n in self.fn.nodes:
                mask = 0
                for i in n.uses:
                    mask |= bit[i] | self._ancestors.get(i, 0)
                self._ancestors.update(dict.fromkeys(n.outputs, mask))
            self._bits = bit
        return self._ancestors.get(value, 0) | self._bits[value]

    # -- phase 1: what raw operands need -------------------------------------------------------------------------------
    def resolve_raw(self) -> None:
        for node in self.fn.nodes:
            form = self.kernels.get(node.id)
            for port in form.loads if form else ():
                if port.accepts != "generic":
                    self._resolve_raw_port(node, port)

    def _resolve_raw_port(self, node: Node, port: Load) -> None:
        read = self.ctx.raw_read(self.fn, port, self.is_expr, self.forced, self.fuse)
        if read.source != port.value and self.is_expr(read.source):
            self.forced.add(read.source)
        if port.accepts == "packed" or self.ctx.affine(self.fn, read, port) is not None:
            if self.is_expr(read.source):
                self.forced.add(read.source)
                self.reasons.setdefault(read.source, f"{node.op} reads {port.name} raw")
            return
        self.forced.add(port.value)
        self.reasons[port.value] = f"{node.op} reads {port.name} with one stride per coordinate; this view is not affine and is copied"

    # -- phase 2: virtual values -----------------------------------------------------------------------------------------
    def decide_virtual(self) -> None:
        for node in reversed(self.fn.nodes):
            for value in node.outputs:
                homes, ports = self._homes(value)
                self.home[value] = homes
                if node.id in self.kernels or value in self.fn.results or value in self.forced:
                    continue
                if not self.fn.consumers.get(value):
                    continue
                reason = self._refuse_virtual(value, homes, ports)
                if reason:
                    self.reasons[value] = reason
                    self._chain.pop(value, None)
                else:
                    self.virtual.add(value)

    def _homes(self, value: str) -> tuple[frozenset[str], list[tuple[Node, Load]]]:
        homes: set[str] = set()
        ports: list[tuple[Node, Load]] = []
        for n in self.fn.consumers.get(value, []):
            form = self.kernels.get(n.id)
            if form is None:
                for o in n.outputs:
                    homes |= self.home.get(o, frozenset()) if o in self.virtual else {o}
                continue
            for p in form.loads:
                if p.value == value:
                    homes.add(f"{n.id}:{p.name}")
                    ports.append((n, p))
            if value in n.uses and not any(p.value == value for p in form.loads):
                homes.add(f"{n.id}:*")
        return frozenset(homes), ports

    def _refuse_virtual(self, value: str, homes: frozenset[str], ports: list[tuple[Node, Load]]) -> str:
        node = self.fn.producers[value]
        if not self.fuse and not self.ctx.must_inline(self.fn, node, value):
            return "fusion is off"
        x = self.body(value)
        own, views = ex.cost(x), self.ctx.is_view(node)
        behind = [self._chain[o] for n in self.fn.consumers[value] for o in n.outputs if o in self._chain]
        cost, length = own + max((c for c, _ in behind), default=0), 1 + sum(n for _, n in behind)
        self._chain[value] = (cost, length)
        if length > MAX_CHAIN:
            return f"the chain behind it computes {MAX_CHAIN} values in place already"
        if own == 0 and (views or len(ex.reads(x)) <= 1):
            return ""
        if len(homes) > 1:
            return f"{len(homes)} kernels use it; it is computed once"
        users = self.fn.consumers[value]
        if len(users) > 1 and any(u.id not in self.kernels and self.ctx.is_view(u) for u in users):
            return "it is read at different places; it is computed once"
        if any(u.id not in self.kernels and self.ctx.selects(self.fn, u) for u in users) and cost > SELECT_COST:
            return f"a concatenation or padding would compute it in vain (cost {cost} > {SELECT_COST})"
        for n, p in self._final_ports(value):
            limit = {"once": None, "few": FEW_COST, "many": MANY_COST}[p.evaluations]
            if limit is not None and cost > limit:
                return f"{n.op} evaluates {p.name} repeatedly (cost {cost} > {limit})"
        return ""

    def _final_ports(self, value: str) -> list[tuple[Node, Load]]:
        out = []
        for home in self.home[value]:
            node_id, _, port = home.partition(":")
            form = self.kernels.get(node_id)
            if form and port:
                node = self.fn.nodes[self.position[node_id]]
                out += [(node, p) for p in form.loads if p.name == port]
        return out

    # -- phase 3: groups ---------------------------------------------------------------------------------------------------
    def build_groups(self) -> None:
        for node in self.fn.nodes:
            form = self.kernels.get(node.id)
            if form is None:
                continue
            group = Group(node, form)
            for position, store in enumerate(form.stores):
                self._add_epilogue(group, position, store)
            self._register(group)
        for node in self.fn.nodes:
            for value in node.outputs:
                if node.id in self.kernels or value in self.virtual or value in self.group_of:
                    continue
                if value not in self.fn.results and not self.fn.consumers.get(value):
                    continue
                self._add_pointwise(value)

    def _register(self, group: Group) -> None:
        self.groups.append(group)
        for v in group.outputs:
            self.group_of[v] = group

    def _add_pointwise(self, value: str) -> None:
        t = self.type_of(value)
        group = Group(None, None)
        index: tuple[IntLike, ...] = tuple(intexpr.Symbol(f"o{i}", extent=e) for i, e in enumerate(t.shape))
        group.sinks[0], group.index[value] = [value], index
        if value in self.reasons:
            group.reasons.append((value, self.reasons[value]))
        if self.fuse:
            self._grow(group, 0, value, None)
        self._register(group)

    def _add_epilogue(self, group: Group, position: int, store: Store) -> None:
        assert group.anchor is not None
        result = group.anchor.outputs[store.output]
        target, index = result, store.index
        if self.fuse and result not in self.fn.results and len(self.home.get(result, ())) == 1:
            (sink,) = self.home[result]
            if sink in self.fn.types and self.is_expr(sink) and sink not in self.group_of:
                found = self._sink_index(group, result, store.index, sink)
                if isinstance(found, str):
                    group.reasons.append((sink, found))
                else:
                    target, index = sink, found
        group.sinks[position] = [target]
        group.index[target] = index
        if self.fuse:
            self._grow(group, position, target, result)

    def _grow(self, group: Group, position: int, seed: str, result: str | None) -> None:
        """Add further sinks that are elementwise in a value the group writes, so that they need no kernel of their own."""
        changed = True
        while changed and len(group.sinks[position]) < MAX_SINKS:
            changed = False
            for known in list(group.sinks[position]):
                for sink in sorted(self.home.get(known, ()), key=lambda v: self.position.get(getattr(self.fn.producers.get(v), "id", ""), -1)):
                    if sink not in self.fn.types or not self.is_expr(sink) or sink in self.group_of or sink in group.outputs or sink in self.forced:
                        continue
                    if self.type_of(sink).shape != self.type_of(known).shape or len(group.sinks[position]) >= MAX_SINKS:
                        continue
                    found = self._sink_index(group, known, group.index[known], sink, result)
                    if not isinstance(found, str):
                        group.sinks[position].append(sink)
                        group.index[sink] = found
                        changed = True

    def _sink_index(self, group: Group, known: str, index: tuple[IntLike, ...], sink: str, result: str | None = None) -> tuple[IntLike, ...] | str:
        """Return the index at which `sink` is written when `known` stands at `index`, or the reason why it cannot be absorbed."""
        found = self._follow(known, index, sink)
        if found is None:
            return f"{sink} is not an elementwise or one-to-one function of {known}"
        keep = frozenset(v for v in (known, result) if v)
        tree = self.inliner(keep=keep)(self.define(sink, found))
        if self._learns(group, [linear(found, self.type_of(sink).shape), *integers(tree)]):
            return f"{sink} depends on an extent that only this kernel's run can tell"
        own = {known: index} | ({result: group.index[result]} if result in group.index else {})
        needs: set[str] = set()
        for r in ex.reads(tree):
            if r.source in own and (tuple(map(intexpr.recombine, r.index)) != own[r.source] or r.guard):
                return f"{sink} reads {r.source} at other places than its own"
            if r.source not in keep:
                needs.add(r.source)
        late = self._made_from(group, {sink, known, *group.outputs, *(group.anchor.outputs if group.anchor else ())}, needs)
        if late:
            return f"{sink} also needs {late}, which is made from this kernel's result"
        group.needs |= needs
        return found

    def _learns(self, group: Group, items: list[IntLike]) -> bool:
        """Whether integers depend on an extent that the group's own kernel reports."""
        made = {d for d, v in self.fn.extents.items() if group.anchor and v in group.anchor.outputs}
        return bool(made) and any(s.name in made for i in items for s in intexpr.symbols(i) if s.extent is None)

    def _made_from(self, group: Group, own: set[str], needs: set[str]) -> str:
        """Return a value that the group's epilogues read although it is made from what the group writes; "" when there is none.

        Kernels write several values at once, so whoever waits for one of them waits for all that the kernel needs.
        """
        for value in sorted(group.needs | needs):
            mask, waiting = self._above(value), [g for g in self.groups if g is not group]
            while met := [g for g in waiting if any(self._bits[v] & mask for v in g.outputs)]:
                waiting = [g for g in waiting if g not in met]
                for g in met:
                    for v in (*g.outputs, *(g.anchor.outputs if g.anchor else ())):
                        mask |= self._above(v)
            if any(self._bits[v] & mask for v in own):
                return value
        return ""

    def _follow(self, known: str, index: tuple[IntLike, ...], sink: str) -> tuple[IntLike, ...] | None:
        """Walk from `known` to `sink` through virtual values and map the index along."""
        where: dict[str, tuple[IntLike, ...]] = {known: index}
        start = self.position[self.fn.producers[known].id] if known in self.fn.producers else -1
        stop = self.position[self.fn.producers[sink].id]
        for node in self.fn.nodes[start + 1 : stop + 1]:
            if node.id in self.kernels:
                continue
            for i, used in enumerate(node.inputs):
                if used in where and all(o == sink or o in self.virtual for o in node.outputs):
                    for o in node.outputs:
                        placed = self.ctx.place(self.fn, node, i, o, where[used])
                        if placed is not None:
                            where.setdefault(o, placed)
        return where.get(sink)

    # -- phase 4: side outputs ------------------------------------------------------------------------------------------------
    def add_side_outputs(self) -> None:
        for group in list(self.groups):
            if group.anchor is not None or len(group.outputs) != 1 or not self.fuse:
                continue
            (value,) = group.outputs
            for node in self.fn.consumers.get(value, []):
                host = next((g for g in self.groups if g.anchor is node), None)
                if host is not None and self._side_fits(host, value):
                    assert host.form is not None
                    host.side.append(value)
                    host.side_port = next(p.name for p in host.form.loads if p.value == value)
                    host.index[value] = next(p.index for p in host.form.loads if p.value == value)
                    self.groups.remove(group)
                    self.group_of[value] = host
                    break

    def _side_fits(self, host: Group, value: str) -> bool:
        assert host.anchor is not None and host.form is not None
        ports = [p for p in host.form.loads if p.value == value]
        if len(ports) != 1 or ports[0].evaluations != "once" or ports[0].accepts != "generic" or ports[0].guard or host.side:
            return False
        if self.fn.consumers[value][0] is not host.anchor and any(
            self.depends(host.anchor.outputs[0], o) for n in self.fn.consumers[value] if n is not host.anchor for o in n.outputs
        ):
            return False
        for sinks in host.sinks.values():  # the epilogue must not read what the load stores
            for s in sinks:
                if s != host.anchor.outputs[0] and self.is_expr(s) and any(r.source == value for r in ex.reads(self.body(s))):
                    return False
        merged = {id(host): set(host.outputs) | {value}}
        return self._acyclic(merged, skip=value)

    # -- phase 5: order ---------------------------------------------------------------------------------------------------------
    def group_inputs(self, group: Group) -> set[str]:
        """Return the materialised values that a group reads."""
        out: set[str] = set()
        own = frozenset(group.outputs)
        if group.anchor is not None:
            assert group.form is not None
            for p in group.form.loads:
                out |= self._sources(p.value)
            for port in group.form.ports:
                if not isinstance(port, Load) and port.expr is not None:
                    out |= {r.source for r in ex.reads(self.inliner()(port.expr))}
            for v in group.side:
                out |= {r.source for r in ex.reads(self.body(v))}
            own |= frozenset(group.anchor.outputs)
        for v in group.outputs:
            if self.is_expr(v):
                t = self.type_of(v)
                index = tuple(intexpr.Symbol(f"x{i}", extent=e) for i, e in enumerate(t.shape))
                also = own - {v}
                tree = self.inliner(also=frozenset(a for a in also if self.is_expr(a)))(self.define(v, index))
                out |= {r.source for r in ex.reads(tree)}
        return {v for v in out if v not in own}

    def _sources(self, value: str) -> set[str]:
        if not (value in self.virtual and self.is_expr(value)):
            return {value}
        return {r.source for r in ex.reads(self.body(value))}

    def _acyclic(self, outputs: dict[int, set[str]], skip: str = "") -> bool:
        try:
            self._order(outputs, skip)
        except ValueError:
            return False
        return True

    def _order(self, extra: dict[int, set[str]] | None = None, skip: str = "") -> list[Group]:
        groups = [g for g in self.groups if not (g.anchor is None and g.outputs == [skip])]
        maker = {v: g for g in groups for v in (extra or {}).get(id(g), set(g.outputs))}
        state: dict[int, int] = {}
        order: list[Group] = []

        def visit(g: Group) -> None:
            if state.get(id(g)) == 2:
                return
            if state.get(id(g)) == 1:
                raise ValueError("cycle between kernels")
            state[id(g)] = 1
            needs = self.group_inputs(g)
            if skip and skip in (extra or {}).get(id(g), ()):
                needs = (needs | {r.source for r in ex.reads(self.body(skip))}) - {skip}
            for v in sorted(needs):
                if v in maker and maker[v] is not g:
                    visit(maker[v])
            state[id(g)] = 2
            order.append(g)

        for g in sorted(groups, key=self._first_position):
            visit(g)
        return order

    def _first_position(self, g: Group) -> int:
        node = g.anchor or self.fn.producers[g.outputs[0]]
        return self.position[node.id]

    def run(self) -> list[Group]:
        """Return the groups in execution order."""
        self.resolve_raw()
        self.decide_virtual()
        self.build_groups()
        self.add_side_outputs()
        return self._order()


def partition(ctx: LoweringContext, fn: Function, fuse: bool = True) -> tuple[Fusion, list[Group]]:
    """Return the fusion decisions for a function and its kernel groups in execution order."""
    fusion = Fusion(ctx, fn, fuse)
    return fusion, fusion.run()
