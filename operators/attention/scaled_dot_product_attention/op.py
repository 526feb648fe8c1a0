"""The shape of attention."""

from __future__ import annotations

from dinoml.ir import intexpr
from dinoml.ir.graph import TensorType
from dinoml.operators import OpCall


def infer(c: OpCall) -> TensorType:
    q, k, v = c.input("q"), c.input("k"), c.input("v")
    (b, heads, rows, depth), (kb, kh, keys, kd) = q.shape, k.shape
    if (kb, kd) != (b, depth) or v.shape[:3] != (kb, kh, keys):
        c.fail(f"q is {q}, k is {k}, v is {v}: B and D of q and k agree, and B, H, S of k and v")
    if not c["enable_gqa"] and heads != kh:
        c.fail(f"q has {heads} heads and k {kh}; set enable_gqa=True to share key heads")
    if c["enable_gqa"] and intexpr.mod(heads, kh) != 0:
        c.fail(f"q has {heads} heads, which is not a multiple of the {kh} of k")
    if c.has("mask") and c.broadcast(c.input("mask").shape, (b, heads, rows, keys)) != (b, heads, rows, keys):
        c.fail(f"mask {c.input('mask')} does not broadcast to [{b}, {heads}, {rows}, {keys}]")
    return TensorType(q.dtype, (b, heads, rows, v.shape[3]))
