"""Attention as one kernel: scores never reach memory; mask and bias become the score map."""

from __future__ import annotations

import math
from typing import Any

from dinoml.ir import expr as ex
from dinoml.ir.expr import Expr
from dinoml.ir.intexpr import Symbol
from dinoml.lowering.forms import Form, Load, Map, Store, coordinates
from dinoml.operators import OpCall


def lower(c: OpCall, traits: dict[str, Any]) -> Form:
    q, k, v = c.input("q"), c.input("k"), c.input("v")
    batch, heads, length, depth = q.shape
    kv_heads, keys, width = k.shape[1], k.shape[2], v.shape[3]
    scale = c["scale"]
    if scale is None:
        if not isinstance(depth, int):
            c.fail(f"the head dimension {depth} is known only at run time; pass scale=")
        scale = 1 / math.sqrt(depth) if depth else 1.0
    if not isinstance(heads, int) or not isinstance(kv_heads, int):
        c.fail(f"the numbers of heads, {heads} and {kv_heads}, must be static")
    group = heads // kv_heads if kv_heads else 1
    at_q = coordinates("q", (batch, heads, length, depth))
    at_k = coordinates("k", (batch, kv_heads, keys, depth))
    at_v = coordinates("v", (batch, kv_heads, keys, width))
    at_y = coordinates("y", (batch, heads, length, width))
    at_s = coordinates("s", (batch, heads, length, keys))
    return Form(
        template="attention",
        outer=(),
        ports=(
            Load("q", c.names[0], at_q, at_q, accepts="strided"),
            Load("k", c.names[1], at_k, at_k, accepts="strided"),
            Load("v", c.names[2], at_v, at_v, accepts="strided"),
            Map("score", _score(c, at_s), at_s),
            Store("y", 0, at_y, at_y),
        ),
        tail=(batch, heads, length, keys, depth, width, group),
        params=(("causal", bool(c["causal"])),),
        scalars=(("scale", float(scale)), ("causal_offset", 0)),
        outer_slots=0,
        reduction=keys,
        flops=2 * batch * heads * length * keys * (depth + width),
    )


def _score(c: OpCall, at: tuple[Symbol, ...]) -> Expr | None:
    if not c.has("mask"):
        return None
    t = c.input("mask")
    shape = tuple(s.extent for s in at)
    read = c.broadcast_read("mask", at[4 - t.rank :] if t.rank < 4 else at, shape)  # type: ignore[arg-type]
    value = ex.Input("value", "float32")
    if t.dtype == "bool":
        return ex.Where(read, value, ex.Const(-math.inf, "float32"))
    return ex.call("add", value, read)
