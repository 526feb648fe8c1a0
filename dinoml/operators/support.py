"""The table of operators in the README: `python -m dinoml.operators.support` prints it, `--write README.md` puts it in place."""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from dinoml.ir import dtypes
from dinoml.operators import registry

BEGIN, END = "<!-- operators: made by python -m dinoml.operators.support -->", "<!-- end of operators -->"
_SHORT = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "int64": "i64", "bool": "bool"}


def _dtypes(names: set[str]) -> str:
    return ", ".join(_SHORT[d] for d in dtypes.SETS["any"] if d in names)


def table() -> str:
    """Return the Markdown table: families, their operators with aliases counted, dtypes of the first type variable."""
    families: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in registry.names():
        op = registry.get(name)
        if op.spec.internal:
            continue
        variable = op.spec.inputs[0].dtype if op.spec.inputs else op.spec.outputs[0].dtype
        allowed = set(op.spec.types.get(variable, (variable,))) & set(dtypes.DTYPES) or set(dtypes.SETS["any"])
        more = len(op.spec.aliases)
        families[(op.folder.parent.name, _dtypes(allowed))].append(name + (f" (+{more} names)" if more > 3 else ""))
    rows = [f"| {family} | {', '.join(ops)} | {types} |" for (family, types), ops in sorted(families.items())]
    return "\n".join(["| family | operators | dtypes |", "|---|---|---|", *rows])


def replaced(text: str) -> str:
    """Return a README with its table made anew; raise ValueError when it has no place for one."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the text has no lines {BEGIN!r} and {END!r}")
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def main() -> None:
    """Print the table or write it into a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    path = parser.parse_args().write
    if path is None:
        print(table())
    else:
        path.write_text(replaced(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
