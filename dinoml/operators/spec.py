"""The spec of an operator: `spec.yaml` parsed into frozen dataclasses, with errors that name file, key and what is allowed."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from dinoml.ir import dtypes

KINDS = ("pointwise", "view", "composite", "kernel")
ATTR_TYPES = ("float", "int", "bool", "str", "ints", "floats", "dtype", "number", "size", "shape", "axis", "axes", "any")
_KEYS: dict[str, tuple[str, ...]] = {
    "spec": ("name", "kind", "summary", "source", "inputs", "attrs", "types", "outputs", "expr", "sugar", "aliases", "families",
             "limits", "cases", "signature", "internal", "notes", "tolerance", "reduction", "kernel"),
    "inputs": ("name", "dtype", "optional", "variadic", "range", "values"),
    "attrs": ("name", "type", "default", "choices", "why", "also", "of", "extra", "length", "like"),
    "outputs": ("name", "dtype", "extent", "variadic"),
    "limits": ("when", "why"),
    "families": ("name", "parts", "except"),
    "kernel": ("form", "template", "params", "scalars", "result"),
}  # fmt: skip


class SpecError(ValueError):
    """A spec.yaml that cannot be understood."""


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


@dataclass(frozen=True)
class InputSpec:
    """One operand. `dtype` is a type variable or a dtype; `range` and `values` steer the test matrix."""

    name: str
    dtype: str
    optional: bool = False
    variadic: bool = False
    range: tuple[float, float] | None = None
    values: str = ""


@dataclass(frozen=True)
class AttrSpec:
    """One attribute. `of` names the input whose rank an axis counts from, `extra` how far past it an axis may lie.

    `length` is the number of entries of a list (one number stands for all of them), `like` the attribute that None stands for.
    """

    name: str
    type: str
    default: Any = REQUIRED
    choices: tuple[Any, ...] = ()
    why: str = ""
    also: tuple[str, ...] = ()
    of: str = ""
    extra: int = 0
    length: int = 0
    like: str = ""


@dataclass(frozen=True)
class OutputSpec:
    """One result. An `extent` result is the int64 scalar that holds a data-dependent dim; `variadic` stands for any number."""

    name: str
    dtype: str
    extent: bool = False
    variadic: bool = False


@dataclass(frozen=True)
class Limit:
    """A refusal: when the Python expression holds, `why` is the user's message."""

    when: str
    why: str


@dataclass(frozen=True)
class Alias:
    """Another public name: fixed attributes, and (where given) exactly which inputs it takes, all required."""

    name: str
    attrs: Mapping[str, Any]
    inputs: tuple[str, ...] | None = None


@dataclass(frozen=True)
class OperatorSpec:
    """Everything `spec.yaml` says about one operator."""

    name: str
    kind: str
    summary: str
    inputs: tuple[InputSpec, ...]
    outputs: tuple[OutputSpec, ...]
    attrs: tuple[AttrSpec, ...] = ()
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    source: str = ""
    notes: str = ""
    expr: str = ""
    sugar: tuple[str, ...] = ()
    aliases: tuple[Alias, ...] = ()
    limits: tuple[Limit, ...] = ()
    cases: tuple[Mapping[str, Any], ...] = ()
    tolerance: Mapping[str, Any] = field(default_factory=dict)
    reduction: str = ""
    signature: tuple[str, ...] = ()
    internal: bool = False
    path: Path = Path()
    kernel: Mapping[str, Any] = field(default_factory=dict)  # how it becomes a kernel, where `lower.py` would only name a common form

    def input(self, name: str) -> InputSpec:
        """Return an input by name; raise KeyError naming those that exist."""
        for i in self.inputs:
            if i.name == name:
                return i
        raise KeyError(f"{self.name} has no input {name!r}; it has {', '.join(i.name for i in self.inputs) or 'none'}")

    @property
    def variadic(self) -> bool:
        """Whether the (only) input stands for any number of tensors."""
        return any(i.variadic for i in self.inputs)


class _Parser:
    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, where: str, text: str) -> NoReturn:
        raise SpecError(f"{self.path}: {where}: {text}")

    def known(self, what: str, value: object, allowed: Iterable[str], where: str) -> str:
        options = list(allowed)
        if value in options:
            return str(value)
        near = difflib.get_close_matches(str(value), options, 1)
        return self.fail(where, f"{what} {value!r} is not one of {', '.join(options)}" + (f"; did you mean {near[0]!r}?" if near else ""))

    def mapping(self, data: Any, kind: str, where: str) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            self.fail(where, f"expected a mapping with keys {', '.join(_KEYS[kind])}, got {data!r}")
        for key in data:
            self.known("key", key, _KEYS[kind], where)
        return dict(data)

    def items(self, data: Any, kind: str) -> list[dict[str, Any]]:
        if data is None:
            return []
        if not isinstance(data, list):
            self.fail(kind, f"expected a list, got {data!r}")
        out = [self.mapping(d, kind, f"{kind}[{i}]") for i, d in enumerate(data)]
        for i, d in enumerate(out):
            if kind not in ("limits",) and not isinstance(d.get("name"), str):
                self.fail(f"{kind}[{i}]", "needs a name")
        return out

    def type_sets(self, data: Any) -> dict[str, tuple[str, ...]]:
        out: dict[str, tuple[str, ...]] = {}
        for var, names in (data or {}).items():
            found: dict[str, None] = {}
            for name in names if isinstance(names, list) else [names]:
                self.known("dtype or set", name, [*dtypes.SETS, *dtypes.DTYPES], f"types.{var}")
                found.update(dict.fromkeys(dtypes.SETS.get(name, (name,))))
            out[var] = tuple(found)
        return out

    def attr(self, d: dict[str, Any], i: int) -> AttrSpec:
        where = f"attrs[{i}] ({d['name']})"
        kind = self.known("type", d.get("type"), ATTR_TYPES, f"{where}.type")
        default = _tuple(d["default"]) if "default" in d else REQUIRED
        choices, also = tuple(d.get("choices", ())), tuple(d.get("also", ()))
        rest = (d.get("of", ""), d.get("extra", 0), d.get("length", 0), d.get("like", ""))
        return AttrSpec(d["name"], kind, default, choices, d.get("why", ""), also, *rest)

    def family(self, d: dict[str, Any]) -> list[Alias]:
        parts: dict[str, dict[str, Any]] = d["parts"]
        out = []
        for combo in itertools.product(*(p.items() for p in parts.values())):
            name = d["name"].format(**dict(zip(parts, (key for key, _ in combo))))
            if name in d.get("except", ()):
                continue
            merged: dict[str, Any] = {}
            inputs: list[str] = []
            for _, fixed in combo:
                merged.update({k: v for k, v in fixed.items() if k != "inputs"})
                inputs += fixed.get("inputs", [])
            out.append(Alias(name, {k: _tuple(v) for k, v in merged.items()}, tuple(inputs) or None))
        return out

    def aliases(self, data: dict[str, Any]) -> tuple[Alias, ...]:
        out = []
        for name, fixed in (data.get("aliases") or {}).items():
            fixed = dict(fixed or {})
            inputs = fixed.pop("inputs", None)
            out.append(Alias(name, {k: _tuple(v) for k, v in fixed.items()}, tuple(inputs) if inputs is not None else None))
        for f in self.items(data.get("families"), "families"):
            out += self.family(f)
        return tuple(out)


def _tuple(value: Any) -> Any:
    return tuple(_tuple(v) for v in value) if isinstance(value, list) else value


def parse(data: Any, path: Path) -> OperatorSpec:
    """Return the spec of a parsed YAML document; raise SpecError naming file, key and what is allowed."""
    p = _Parser(path)
    d = p.mapping(data, "spec", "spec")
    for key in ("name", "kind", "summary", "outputs"):
        if key not in d:
            p.fail(key, "is missing")
    kind = p.known("kind", d["kind"], KINDS, "kind")
    if (kind == "pointwise") != ("expr" in d):
        p.fail("expr", "pointwise operators have one, others do not")
    types = p.type_sets(d.get("types"))
    inputs = tuple(
        InputSpec(i["name"], str(i.get("dtype", "T")), bool(i.get("optional")), bool(i.get("variadic")),
                  tuple(i["range"]) if "range" in i else None, i.get("values", ""))
        for i in p.items(d.get("inputs"), "inputs")
    )  # fmt: skip
    attrs = tuple(p.attr(a, i) for i, a in enumerate(p.items(d.get("attrs"), "attrs")))
    outputs = tuple(
        OutputSpec(o["name"], str(o.get("dtype", "T")), bool(o.get("extent")), bool(o.get("variadic"))) for o in p.items(d["outputs"], "outputs")
    )
    dtype_attrs = [a.name for a in attrs if a.type == "dtype"]
    for what, group in (("inputs", inputs), ("outputs", outputs)):
        for item in group:
            p.known("dtype", item.dtype, [*types, *dtypes.DTYPES, *(dtype_attrs if what == "outputs" else [])], f"{what}.{item.name}.dtype")
    names = [i.name for i in inputs] + [a.name for a in attrs]
    if len(set(names)) != len(names):
        p.fail("inputs, attrs", "names must differ from each other")
    for name in d.get("signature", []):
        p.known("name", name, [*names, "*"], "signature")
    return OperatorSpec(
        d["name"], kind, d["summary"], inputs, outputs, attrs, types, d.get("source", ""), d.get("notes", ""), d.get("expr", ""),
        tuple(d.get("sugar", ())), p.aliases(d), tuple(Limit(x["when"], x["why"]) for x in p.items(d.get("limits"), "limits")),
        tuple(d.get("cases") or ()), d.get("tolerance") or {}, d.get("reduction", ""), tuple(d.get("signature", ())), bool(d.get("internal")), path,
        p.mapping(d.get("kernel") or {}, "kernel", "kernel"),
    )  # fmt: skip


def load(path: Path) -> OperatorSpec:
    """Return the spec in a file; raise SpecError when it is not valid YAML or not a spec."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(path.read_text(), Loader=loader)
    except yaml.YAMLError as e:
        raise SpecError(f"{path}: not valid YAML: {e}") from e
    return parse(data, path)
