"""Rendering accessors: one struct per port, the same text for every target.

fetch brings raw elements, eval/put/run compute. Each distinct sub-expression becomes one local; reads become members of Got.
"""

from __future__ import annotations

from collections.abc import Sequence

from dinoml.codegen.integers import IntRenderer, IntTable, depends, lane_slope
from dinoml.ir import dtypes
from dinoml.ir import expr as ex
from dinoml.ir.expr import Expr, Read
from dinoml.ir.intexpr import IntLike, Opaque
from dinoml.lowering.kernels import LoadAccessor, MapAccessor, StoreAccessor, Write

COORDS = "i64 i0, i64 i1, i64 i2, i64 i3"
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "logical_and": "&", "logical_or": "|", "logical_xor": "^", "bit_and": "&", "bit_or": "|", "bit_xor": "^",
}  # fmt: skip
_UNARY = {"neg": "-", "logical_not": "~", "bit_not": "~"}


def cpp_type(compute: str) -> str:
    """Return the C++ type of a compute dtype."""
    return {"bool": "bool"}.get(compute, dtypes.DTYPES[compute].cpp)


def literal(value: float | int | bool, dtype: str) -> str:
    """Return a C++ literal that has exactly this value."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in ("int32", "int64"):
        low = -(1 << (31 if dtype == "int32" else 63))
        text = f"({value + 1} - 1)" if value == low else str(value)
        return f"{cpp_type(dtype)}({text}{'' if dtype == 'int32' else 'll'})" if value != low else f"{cpp_type(dtype)}({value + 1}ll - 1)"
    v = float(value)
    if v != v:
        return '__builtin_nanf("")'
    if v in (float("inf"), float("-inf")):
        return f"{'-' if v < 0 else ''}__builtin_inff()"
    import numpy as np

    single = float(np.float32(v))
    if abs(single) == float("inf"):
        return f"{'-' if v < 0 else ''}__builtin_inff()"
    return (
        f"{single.hex()}f"
        if single != int(single) or abs(single) > 1e6
        else f"{int(single)}.0f"
        if not (single == 0 and str(single) == "-0.0")
        else "-0.0f"
    )


class Members:
    """Fields of one struct: pointers and integers, in order of first use."""

    def __init__(self, operands: Sequence[tuple[str, str, bool]], table: IntTable) -> None:
        self._operands, self._table = operands, table
        self.pointers: dict[tuple[str, bool], int] = {}
        self.ints: dict[IntLike, int] = {}
        self.uses_error = False

    def pointer(self, source: str, written: bool) -> str:
        """Return the member that points to a buffer."""
        number = next(i for i, (v, _, w) in enumerate(self._operands) if v == source and w == written)
        self.pointers[(source, written)] = number
        return f"p{number}"

    def integer(self, x: IntLike) -> str:
        """Return the member that holds a dims-only expression."""
        self.ints[x] = self._table.slot(x)
        return f"q{self.ints[x]}"

    def declarations(self) -> list[str]:
        out = []
        for (source, written), number in self.pointers.items():
            storage = next(s for v, s, w in self._operands if v == source and w == written)
            out.append(f"{'' if written else 'const '}{dtypes.DTYPES[storage].cpp}* p{number};")
        out += [f"i64 q{slot};" for slot in self.ints.values()]
        if self.uses_error:
            out.append("uint32_t* error;")
        return out

    def initialiser(self) -> str:
        """Return the braces that fill the struct from ptr[] and n[]."""
        out = []
        for (source, written), number in self.pointers.items():
            storage = next(s for v, s, w in self._operands if v == source and w == written)
            out.append(f"static_cast<{'' if written else 'const '}{dtypes.DTYPES[storage].cpp}*>(ptr[{number}])")
        out += [f"n[{slot}]" for slot in self.ints.values()]
        if self.uses_error:
            out.append("ctx->error")
        return "{" + ", ".join(out) + "}"


class Body:
    """Statements of one struct's functions."""

    def __init__(self, members: Members, narrow: bool, aligned: bool = True, stream: bool = False) -> None:
        self.members = members
        self.narrow = narrow  # the vector coordinate has one element: every access is contiguous
        self.store = "store_stream" if stream else "store"
        self.aligned = aligned  # vectors start at multiples of their width
        self.render = IntRenderer(members.integer, self._opaque)
        self.reads: dict[Read, str] = {}
        self.values: dict[Expr, str] = {}
        self.lines: list[str] = []
        self.indices: dict[Opaque, str] = {}
        self.index_lines: list[str] = []

    # -- run-time indices ----------------------------------------------------------------------------------------------
    def _opaque(self, o: Opaque, last: str) -> str:
        if o not in self.indices:
            name = f"x{len(self.indices)}"
            self.indices[o] = name
            self.members.uses_error = True
            scalar = Body(self.members, narrow=True)
            scalar.indices, scalar.index_lines = self.indices, self.index_lines
            result = scalar.value(o.payload.expr)
            lines = [f"const {scalar.raw_type(r, '1')} {g} = {scalar.fetch(r, 'Full<1>{}')};" for r, g in scalar.reads.items()]
            body = " ".join(lines + [line.replace("<W>", "<1>") for line in scalar.lines]).replace("g.", "")
            operand = next(
                (i for i, (v, _, w) in enumerate(self.members._operands) if not w and any(r.source == v for r in ex.reads(o.payload.expr))), 0
            )
            self.index_lines.append(
                f"const auto {name} = [&](i64 i3) {{ (void)i3; {body} "
                f"return checked_index(int64_t(lane<0>({result})), {self.render(o.extent)}, error, {operand}); }};"
            )
        return f"{self.indices[o]}({last})"

    # -- reads -----------------------------------------------------------------------------------------------------------
    def slope(self, x: IntLike) -> IntLike | None:
        return 1 if self.narrow else lane_slope(x, self.aligned)

    def uniform(self, r: Read) -> bool:
        return not self.narrow and not any(depends(i, "c3") for i in r.index + r.guard)

    def raw_type(self, r: Read, n: str) -> str:
        return f"Raw<{dtypes.DTYPES[r.storage].cpp}, {'1' if self.uniform(r) else n}>"

    def condition(self, guard: tuple[IntLike, ...], last: str = "i3") -> str:
        return " && ".join(f"{self.render(g, last)} >= 0" for g in guard)

    def fetch(self, r: Read, lanes: str = "l") -> str:
        """Return the expression that loads a read."""
        p = self.members.pointer(r.source, False)
        cpp = dtypes.DTYPES[r.storage].cpp
        (offset,) = r.index
        if self.uniform(r):
            load = f"load(Full<1>{{}}, {p} + {self.render(offset)})"
            return f"{self.condition(r.guard)} ? {load} : Raw<{cpp}, 1>{{}}" if r.guard else load
        k = self.slope(offset)
        moving = any(depends(g, "c3") for g in r.guard) and not self.narrow
        if k is None or k == 0 or moving:
            at = f"{p}[{self.render(offset, '(i3 + j)')}]"
            text = f"{self.condition(r.guard, '(i3 + j)')} ? {at} : {cpp}{{}}" if r.guard else at
            return f"load_each<{cpp}>({lanes}, [&](int j) {{ (void)j; return {text}; }})"
        address = f"{p} + {self.render(offset)}"
        load = f"load({lanes}, {address})" if k == 1 else f"load_strided({lanes}, {address}, {self.render(k)})"
        if not r.guard:
            return load
        n = "1" if lanes == "Full<1>{}" else "L::width"
        return f"{self.condition(r.guard)} ? {load} : Raw<{cpp}, {n}>{{}}"

    # -- values -----------------------------------------------------------------------------------------------------------
    def value(self, x: Expr) -> str:
        """Return the local that holds x, adding its statements."""
        if x not in self.values:
            for e in ex.walk(x):
                if e not in self.values:
                    self.values[e] = self._emit(e)
        return self.values[x]

    def _local(self, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"const auto {name} = {text};")
        return name

    def _emit(self, e: Expr) -> str:
        v = self.values
        match e:
            case ex.Input():
                return "v"
            case ex.Const():
                return self._local(f"splat<W>({literal(e.value, e.dtype)})")
            case Read():
                g = self.reads.setdefault(e, f"g{len(self.reads)}")
                return self._local(f"splat<W>(lane<0>(value(g.{g})))" if self.uniform(e) else f"value(g.{g})")
            case ex.Index():
                return self._local(self._index(e))
            case ex.Cast():
                return self._local(f"cast<{cpp_type(e.dtype)}>({v[e.arg]})")
            case ex.Round():
                return self._local(f"value(to<{dtypes.DTYPES[e.storage].cpp}>({v[e.arg]}))")
            case ex.Where():
                return self._local(f"select({v[e.mask]}, {v[e.a]}, {v[e.b]})")
            case ex.Select():
                return self._local(self._select(e))
        args = [v[a] for a in e.args]
        if e.fn in _OPERATORS:
            return self._local(f"{args[0]} {_OPERATORS[e.fn]} {args[1]}")
        if e.fn in _UNARY:
            return self._local(f"{_UNARY[e.fn]}{args[0]}")
        return self._local(f"{e.fn}({', '.join(args)})")

    def _index(self, e: ex.Index) -> str:
        k = lane_slope(e.value, self.aligned)
        if not depends(e.value, "c3"):
            return f"splat<W>({cpp_type(e.dtype)}({self.render(e.value)}))"
        if k is not None:
            return f"cast<{cpp_type(e.dtype)}>(iota<W>({self.render(e.value)}, {self.render(k)}))"
        return (
            f"cast<{cpp_type(e.dtype)}>(value(load_each<int64_t>(Full<W>{{}}, [&](int j) {{ return int64_t({self.render(e.value, '(i3 + j)')}); }})))"
        )

    def _select(self, e: ex.Select) -> str:
        a, b = self.values[e.a], self.values[e.b]
        uniform = [c for c in e.conditions if not depends(c, "c3")]
        moving = [c for c in e.conditions if depends(c, "c3")]
        text = f"{a}"
        if moving:
            masks = []
            for c in moving:
                k = lane_slope(c, self.aligned)
                if k is not None:
                    masks.append(f"(iota<W>({self.render(c)}, {self.render(k)}) >= splat<W>(int64_t(0)))")
                else:
                    masks.append(f"value(load_each<b8>(Full<W>{{}}, [&](int j) {{ return b8{{uint8_t({self.render(c, '(i3 + j)')} >= 0)}}; }}))")
            text = f"select({' & '.join(masks)}, {a}, {b})"
        return f"{self.condition(tuple(uniform))} ? {text} : {b}" if uniform else text

    # -- writes -----------------------------------------------------------------------------------------------------------
    def write(self, w: Write) -> None:
        """Add the statement that stores a write's value."""
        x = self.value(w.expr)
        cpp = dtypes.DTYPES[w.storage].cpp
        p = self.members.pointer(w.target, True)
        k = self.slope(w.offset)
        raw = f"to<{cpp}>({x})"
        if k is None or k == 0:
            self.lines.append(f"store_each(l, {raw}, [&](int j, {cpp} e) {{ {p}[{self.render(w.offset, '(i3 + j)')}] = e; }});")
        elif k == 1:
            self.lines.append(f"{self.store}(l, {p} + {self.render(w.offset)}, {raw});")
        else:
            self.lines.append(f"store_strided(l, {p} + {self.render(w.offset)}, {self.render(k)}, {raw});")


def _uses(lines: Sequence[str]) -> str:
    """Return (void) casts for parameters, so that generated code is free of warnings."""
    return "(void)l; (void)i0; (void)i1; (void)i2; (void)i3;"


def struct(
    name: str, port: LoadAccessor | StoreAccessor | MapAccessor, operands: Sequence[tuple[str, str, bool]], table: IntTable, stream: bool = False
) -> tuple[str, str]:
    """Return (struct text, initialiser) of an accessor."""
    members = Members(operands, table)
    body = Body(members, narrow=len(port.coords) == 4 and port.coords[3].extent == 1, aligned=not isinstance(port, MapAccessor), stream=stream)
    result = ""
    if isinstance(port, LoadAccessor):
        for w in port.side:
            body.write(w)
        result = body.value(port.expr)
        compute = cpp_type(port.expr.dtype)
        head = f"template <class L> DML_FN Vec<{compute}, L::width> eval(L l, const Got<L::width>& g, {COORDS}) const"
    elif isinstance(port, MapAccessor):
        assert port.expr is not None
        result = body.value(port.expr)
        head = f"template <class L> DML_FN Vec<float, L::width> eval(L l, const Got<L::width>& g, {COORDS}, Vec<float, L::width> v) const"
    else:
        for w in port.writes:
            body.write(w)
        if port.dtype:
            head = f"template <class L> DML_FN void put(L l, const Got<L::width>& g, {COORDS}, Vec<{cpp_type(port.dtype)}, L::width> v) const"
        else:
            head = f"template <class L> DML_FN void run(L l, const Got<L::width>& g, {COORDS}) const"
    fetches = [f"r.{g} = {body.fetch(r)};" for r, g in body.reads.items()]
    got = " ".join(f"{body.raw_type(r, 'N')} {g};" for r, g in body.reads.items())
    index = "\n    ".join(body.index_lines)
    text = [f"struct {name} {{"]
    text += [f"  {d}" for d in members.declarations()]
    text.append(f"  template <int N> struct Got {{ {got} }};")
    text.append(f"  template <class L> DML_FN Got<L::width> fetch(L l, {COORDS}) const {{")
    text.append(f"    {_uses(fetches)}")
    if index and fetches:
        text.append(f"    {index}")
    text.append("    Got<L::width> r;")
    text += [f"    {f}" for f in fetches]
    text += [
        "    return r;",
        "  }",
        f"  {head} {{",
        "    constexpr int W = L::width; (void)W; (void)g;",
        f"    {_uses(body.lines)}" + (" (void)v;" if " v) const" in head else ""),
    ]
    if index and any(f"{x}(" in line for x in body.indices.values() for line in body.lines):
        text.append(f"    {index}")
    text += [f"    {line}" for line in body.lines]
    if result:
        text.append(f"    return {result};")
    text += ["  }", "};"]
    return "\n".join(text), members.initialiser()
