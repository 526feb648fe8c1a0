"""One kernel as a source file: accessors, parameters, and the entry point that instantiates a template."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2

from dinoml.codegen.accessor import struct
from dinoml.codegen.integers import IntTable
from dinoml.ir import dtypes, intexpr
from dinoml.ir.intexpr import IntLike
from dinoml.lowering.kernels import Kernel, MapAccessor, PackedOperand, Port, StridedOperand
from dinoml.lowering.templates import Candidate, template

PLACEHOLDER = "dml_k_entry"


@dataclass(frozen=True)
class KernelSource:
    """A rendered kernel. `name` is its content hash and its entry point; `ints` are the run-time integers it takes."""

    name: str
    text: str
    ints: tuple[IntLike, ...]
    operands: tuple[tuple[str, str, bool], ...]
    candidate: Candidate


@cache
def environment() -> jinja2.Environment:
    """Return the environment of the code templates."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("dinoml.codegen", "templates"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True
    )


def render_kernel(kernel: Kernel, candidate: Candidate, layout: str = "kernel.cpp.jinja", **more: Any) -> KernelSource:
    """Return the source of a kernel for one candidate; equal problems give equal text, whatever their values are called.

    `layout` is the code template of the target's entry point, `more` what it needs besides.
    """
    table = IntTable()
    operands = kernel.operands
    structs: list[str] = []
    dims = [_scalar(d, table) for d in (*kernel.dims, *(value for _, value in kernel.scalars))]
    ports = [_port(port, candidate, operands, table, structs) for port in kernel.ports]
    text = environment().get_template(layout).render(
        header=candidate.header, namespace=candidate.function.rpartition("::")[0], function=candidate.function, name=PLACEHOLDER, structs=structs,
        params=[_param(k, v) for k, v in candidate.params], ports=ports, dims=dims, dims_type=template(kernel.template).DIMS,
        scratch=candidate.scratch,
        **more,
    )  # fmt: skip
    name = "dml_k_" + hashlib.sha256(text.encode()).hexdigest()[:16]
    return KernelSource(name, text.replace(PLACEHOLDER, name), tuple(table.items), operands, candidate)


def _scalar(value: float | IntLike, table: IntTable) -> str:
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else f"{'-' if value < 0 else ''}__builtin_inf()"
    if isinstance(value, intexpr.IntExpr):
        return f"n[{table.slot(value)}]"
    return str(int(value))


def _param(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"static constexpr bool {name} = {str(value).lower()};"
    if isinstance(value, int):
        return f"static constexpr int {name} = {value};"
    if isinstance(value, str) and value.startswith("type "):
        return f"using {name} = {value[5:]};"
    return f"static constexpr auto {name} = {value};"


def _port(port: Port, candidate: Candidate, operands: tuple[tuple[str, str, bool], ...], table: IntTable, structs: list[str]) -> dict[str, str]:
    kind = port.name[0].upper() + port.name[1:] + "Port"
    if isinstance(port, (StridedOperand, PackedOperand)):
        number = _number(operands, port.source)
        cpp = dtypes.DTYPES[port.storage].cpp
        base = f" + {_scalar(port.base, table)}" if isinstance(port, StridedOperand) and port.base != 0 else ""
        strides = ", ".join(_scalar(s, table) for s in port.strides)
        raw = candidate.packed if isinstance(port, PackedOperand) else "Strided<{}>"
        structs.append(f"using {kind} = {raw.format(cpp)};")
        return {"type": kind, "name": port.name, "init": f"{{static_cast<const {cpp}*>(ptr[{number}]){base}, {strides}}}"}
    if isinstance(port, MapAccessor) and port.expr is None:
        structs.append(f"using {kind} = {candidate.identity};")
        return {"type": kind, "name": port.name, "init": "{}"}
    text, init = struct(kind, port, operands, table, candidate.stream)
    structs.append(text)
    return {"type": kind, "name": port.name, "init": init}


def _number(operands: tuple[tuple[str, str, bool], ...], source: str) -> int:
    return next(i for i, (v, _, written) in enumerate(operands) if v == source and not written)
