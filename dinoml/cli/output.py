"""Printing: tables and progress for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def print_json(value: Any) -> None:
    """Print JSON on stdout."""
    json.dump(value, sys.stdout, indent=2, default=str)
    sys.stdout.write("\n")


def console() -> Console:
    """Return the console of stdout; a pipe gets wide lines instead of wrapped cells."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 160)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print a table; `right` names the columns of numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console().print(table)


def print_pairs(pairs: Sequence[tuple[str, object]]) -> None:
    """Print names and values, one a line."""
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        print(f"{name:{width}}  {value}")


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a callback (what, done, total) that shows on stderr how far the work is; nothing when quiet or not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("trace", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, total=total, completed=done, description=what)

        yield show


def show_time(nanoseconds: float) -> str:
    """Return a time with three significant digits in the unit that suits it."""
    for limit, divisor, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            return f"{nanoseconds / divisor:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"
