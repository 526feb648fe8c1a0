"""Graphs as canonical JSON: stable order, stable hash, exact round-trip."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from dinoml.ir import shapes
from dinoml.ir.graph import Constant, Function, Graph, Node, Output, State, StateWrite, TensorType, freeze
from dinoml.ir.intexpr import IntExpr
from dinoml.ir.shapes import Dim

SCHEMA = 1


def _type(t: TensorType) -> dict[str, Any]:
    return {"dtype": t.dtype, "shape": [shapes.to_json(e) for e in t.shape]}


def _attr(value: Any) -> Any:
    if isinstance(value, IntExpr):
        return {"int": shapes.to_json(value)}
    if isinstance(value, tuple):
        return [_attr(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"float": repr(value)}
    return value


def _function(f: Function) -> dict[str, Any]:
    return {
        "name": f.name,
        "inputs": list(f.inputs),
        "constants": list(f.constants),
        "states": dict(sorted(f.states.items())),
        "outputs": [{"name": o.name, "value": o.value} for o in f.outputs],
        "writes": [{"state": w.state, "value": w.value} for w in f.writes],
        "extents": dict(sorted(f.extents.items())),
        "types": {k: _type(t) for k, t in sorted(f.types.items())},
        "nodes": [
            {
                "id": n.id,
                "op": n.op,
                "inputs": list(n.inputs),
                "outputs": list(n.outputs),
                "attrs": {k: _attr(v) for k, v in n.attrs},
                "source": n.source,
            }
            for n in f.nodes
        ],
    }


def to_json(g: Graph) -> dict[str, Any]:
    """Return the JSON form of a graph."""

    def constants(items: tuple[Constant, ...]) -> list[dict[str, Any]]:
        return [{"name": c.name, **_type(c.type), "encoding": c.encoding} for c in items]

    return {
        "schema": SCHEMA,
        "name": g.name,
        "dims": [shapes.dim_to_json(d) for d in _all_dims(g).values()],
        "functions": [_function(f) for f in g.functions],
        "constants": constants(g.constants),
        "sources": constants(g.sources),
        "states": [{"name": s.name, **_type(s.type)} for s in g.states],
        "constant_program": None if g.constant_program is None else _function(g.constant_program),
    }


def _all_dims(g: Graph) -> dict[str, Dim]:
    items = [e for f in g.functions for t in f.types.values() for e in t.shape]
    items += [v for f in g.functions for n in f.nodes for _, a in n.attrs for v in _ints(a)]
    return dict(sorted(shapes.dims_of(*items).items()))


def _ints(a: Any) -> list[Any]:
    if isinstance(a, IntExpr):
        return [a]
    return [v for item in a for v in _ints(item)] if isinstance(a, tuple) else []


def canonical(g: Graph) -> str:
    """Return the canonical JSON text."""
    return json.dumps(to_json(g), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(g: Graph) -> str:
    """Return the sha256 of the canonical JSON."""
    return hashlib.sha256(canonical(g).encode()).hexdigest()


def from_json(data: Mapping[str, Any]) -> Graph:
    """Return the graph of `to_json`; raise ValueError for another schema or a malformed entry."""
    if data.get("schema") != SCHEMA:
        raise ValueError(f"graph schema {data.get('schema')!r} is not {SCHEMA}; this version of DinoML reads schema {SCHEMA}")
    dims = {d["name"]: shapes.dim_from_json(d) for d in data["dims"]}

    def type_of(d: Mapping[str, Any]) -> TensorType:
        return TensorType(d["dtype"], tuple(shapes.from_json(e, dims) for e in d["shape"]))

    def attr(value: Any) -> Any:
        if isinstance(value, Mapping) and "int" in value:
            return shapes.from_json(value["int"], dims)
        if isinstance(value, Mapping) and "float" in value:
            return float(value["float"])
        return freeze([attr(v) for v in value]) if isinstance(value, list) else value

    def function(d: Mapping[str, Any]) -> Function:
        return Function(
            name=d["name"],
            inputs=tuple(d["inputs"]),
            outputs=tuple(Output(o["name"], o["value"]) for o in d["outputs"]),
            nodes=tuple(
                Node(
                    n["id"], n["op"], tuple(n["inputs"]), tuple(n["outputs"]), tuple((k, attr(v)) for k, v in sorted(n["attrs"].items())), n["source"]
                )
                for n in d["nodes"]
            ),
            types={k: type_of(t) for k, t in d["types"].items()},
            constants=tuple(d["constants"]),
            states=dict(d["states"]),
            writes=tuple(StateWrite(w["state"], w["value"]) for w in d["writes"]),
            extents=dict(d["extents"]),
        )

    return Graph(
        name=data["name"],
        functions=tuple(function(f) for f in data["functions"]),
        constants=tuple(Constant(c["name"], type_of(c), c["encoding"]) for c in data["constants"]),
        sources=tuple(Constant(c["name"], type_of(c), c["encoding"]) for c in data["sources"]),
        states=tuple(State(s["name"], type_of(s)) for s in data["states"]),
        constant_program=None if data["constant_program"] is None else function(data["constant_program"]),
    )
