"""One kernel as a source file for GPUs, and the access widths that its index maps allow.

The text has no vendor in it: it compiles as CUDA and as HIP, from the same accessor structs as the CPU's kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from dinoml.codegen.integers import depends, lane_slope
from dinoml.codegen.kernel_source import KernelSource, render_kernel
from dinoml.ir import dtypes, intexpr
from dinoml.ir import expr as ex
from dinoml.ir.intexpr import Binary, IntLike, Symbol
from dinoml.lowering.kernels import Kernel, LoadAccessor, PackedOperand, Port, StoreAccessor, StridedOperand
from dinoml.lowering.templates import Candidate, Problem

ACCESS = 16  # bytes that one instruction moves; operands start at multiples of it
WIDEST = 8  # lanes: more would spread the accesses of a warp over too many sectors


def render_gpu_kernel(kernel: Kernel, candidate: Candidate) -> KernelSource:
    """Return the source of a kernel for one GPU candidate; equal problems give equal text, whatever their values are called."""
    return render_kernel(kernel, candidate, "kernel_gpu.jinja", operands=len(kernel.operands), alignment=ACCESS)


def vector_width(ports: tuple[Port, ...]) -> int:
    """Return the lanes with which all accessors of a kernel can move along the last coordinate.

    The narrowest storage fills a 16-byte access; every access that is contiguous along the lanes starts at a multiple of its size.
    """
    accesses = [a for p in ports for a in _contiguous(p)]
    width = min(WIDEST, ACCESS // min((size for size, _ in accesses), default=ACCESS))
    while width > 1 and any(multiple(offset, width) * size % min(ACCESS, width * size) for size, offset in accesses):
        width //= 2
    return width


def operand_access(port: Port, panel: int = 0) -> tuple[int, bool]:
    """Return (elements of one access, whether it runs along the last coordinate) for an operand that a tile reads."""
    if isinstance(port, PackedOperand):
        return math.gcd(panel, ACCESS // dtypes.nbytes(port.storage)), True
    if not isinstance(port, StridedOperand):
        return vector_width((port,)), True
    whole = ACCESS // dtypes.nbytes(port.storage)
    for at, along in ((3, True), (2, False)):
        if port.strides[at] == 1:
            others = [port.base, *(s for i, s in enumerate(port.strides) if i != at)]
            return math.gcd(whole, *(intexpr.divisor(s) for s in others)), along
    return 1, True


def threads_along(n: IntLike, width: int, most: int) -> int:
    """Return how many threads share a row of n elements: the power of two that covers it, at least a group of 32 where n is open."""
    need = intexpr.bounds(n)[1] if not isinstance(n, int) else n
    threads = 1
    while threads < most and threads * width < need:
        threads *= 2
    return threads


def tail(n: IntLike, width: int, step: int) -> str:
    """Return how rows of n elements end for vectors of `width`, dealt in steps: exact, whole or ragged (csrc/kernels/gpu/launch.h)."""
    known = intexpr.divisor(n)
    return "exact" if step and known % step == 0 else "whole" if known % width == 0 else "ragged"


def row_shapes(n: IntLike, width: int, in_registers: int = 64) -> list[tuple[int, int]]:
    """Return (threads of a row, vectors of a thread) for rows of n elements held in registers, in order of preference.

    Short rows take one vector of each thread of a group of at most 32, long ones four vectors of a block's threads. Where n is
    open, each shape serves up to its own capacity.
    """
    most, deepest = intexpr.bounds(n)[1], in_registers // width
    if not isinstance(n, int):
        shapes = [(32, 1), (32, 4), (128, 4), (512, 4)] if width > 1 else [(32, 4), (128, 8), (512, 16)]
        first = next((i for i, (g, v) in enumerate(shapes) if g * v * width >= most), len(shapes) - 1)
        return shapes[: first + 1]
    vectors = max(1, -(-most // width))
    out = []
    for depth in (4, 2, deepest, 1):
        group = 1
        while group * (depth if group >= 32 else 1) < vectors and group < 1024:
            group *= 2
        each = -(-vectors // group)
        fits = each <= 32 and each * width <= (32 if group == 1024 else in_registers)  # 1024 threads have 64 registers each
        if fits and group * each >= vectors and (group, each) not in out:
            out.append((group, each))
    return out


def row_candidates(problem: Problem, name: str, params: tuple[tuple[str, object], ...]) -> list[Candidate]:
    """Return the candidates of a row kernel `name`: rows in registers, then by way of scratch."""
    n3 = problem.dims[3]
    width = vector_width(problem.kernel.ports)

    def one(label: str, form: str, threads: int, rest: tuple[tuple[str, object], ...] = (), conditions: tuple[IntLike, ...] = ()) -> Candidate:
        common = (("width", width), ("form", f"Form::{form}"), ("threads", threads))
        scratch = "" if form == "rows" else "row_scratch(d.n0, d.n1, d.n2, d.n3)"
        return Candidate(label, f"kernels/gpu/{name}.h", f"dml::gpu::{name}", (*common, *rest, *params), conditions, scratch)

    if problem.params["form"] == "columns":
        return [one("columns", "columns", 256)]
    read = [i for p in problem.kernel.ports if isinstance(p, StoreAccessor) for e in p.exprs for r in ex.reads(e) for i in r.index]
    early = any(depends(i, c) for i in read for c in ("c0", "c1", "c2"))
    out = []
    for group, vectors in row_shapes(n3, width):
        end = "exact" if group * vectors * width == n3 else tail(n3, width, 0)
        rest = (("group", group), ("vectors", vectors), ("tail", f"Tail::{end}"), ("early", early))
        fits = intexpr.add(group * vectors * width, intexpr.mul(-1, n3))
        conditions = () if intexpr.nonnegative(fits) else (fits,)
        out.append(one(f"g{group}v{vectors}w{width}", "rows", group if group > 32 else 128, rest, conditions))
    return [*out, one("long", "long_rows", 256)]


def multiple(offset: IntLike, width: int) -> int:
    """Return a number that divides an offset wherever the last coordinate is a multiple of `width` (0 for the offset 0)."""
    g = 0
    for mono, c in intexpr.terms_of(offset).items():
        d = abs(c)
        for a in mono:
            d *= _atom_multiple(a, width)
        g = math.gcd(g, d)
    return g


def _atom_multiple(a: intexpr.Atom, width: int) -> int:
    if isinstance(a, Symbol):
        return width if a.name == "c3" and a.extent is not None else a.divisible_by
    if isinstance(a, Binary) and a.op in ("%", "min", "max"):
        return math.gcd(multiple(a.a, width), multiple(a.b, width))
    return 1


def _contiguous(port: Port) -> Iterator[tuple[int, IntLike]]:
    """Yield (element size, offset) of each access that moves whole vectors."""
    if isinstance(port, (StridedOperand, PackedOperand)):
        return
    if len(port.coords) == 4 and port.coords[3].extent == 1:
        return
    for e in port.exprs:
        for r in ex.reads(e):
            (offset,) = r.index
            if lane_slope(offset) == 1 and not any(depends(g, "c3") for g in r.guard):
                yield dtypes.nbytes(r.storage), offset
    for w in port.side if isinstance(port, LoadAccessor) else port.writes if isinstance(port, StoreAccessor) else ():
        if lane_slope(w.offset) == 1:
            yield dtypes.nbytes(w.storage), w.offset
