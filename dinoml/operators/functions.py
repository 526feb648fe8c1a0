"""The public functions of `dinoml.ops`, made from specs on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dinoml.operators import binding, registry
from dinoml.operators.build import builder_of


def make(name: str) -> Callable[..., Any]:
    """Return the function of a public name with its signature and docstring; raise KeyError with the nearest names."""
    p = registry.public(name)

    def function(*args: Any, **kwargs: Any) -> Any:
        return builder_of(args, kwargs).invoke(name, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "dinoml.ops"
    function.__doc__ = docstring(p)
    function.__signature__ = binding.signature(name)  # type: ignore[attr-defined]
    return function


def docstring(p: registry.Public) -> str:
    """Return the summary, the attributes' explanations, the alias and the limits."""
    spec = p.operator.spec
    lines = [spec.summary]
    if p.alias is not None:
        fixed = ", ".join(f"{k}={v!r}" for k, v in p.alias.attrs.items())
        lines += ["", f"The same as dinoml.ops.{spec.name}" + (f" with {fixed}." if fixed else ".")]
    notes = [f"{a.name}: {a.why}" for a in spec.attrs if a.why and not (p.alias and a.name in p.alias.attrs)]
    notes += [spec.notes] if spec.notes else []
    if notes:
        lines += ["", *notes]
    types = "; ".join(f"{var}: {', '.join(names)}" for var, names in spec.types.items())
    if types:
        lines += ["", f"Dtypes: {types}."]
    if spec.limits:
        lines += ["", "Limits:", *(f"- {x.why}" for x in spec.limits)]
    return "\n".join(lines)
