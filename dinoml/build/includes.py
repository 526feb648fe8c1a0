"""The content of everything that a source includes from the project, as hashes.

Strings and os.path instead of pathlib: this runs for each kernel of each compile, cached ones included.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


class Header:
    """One file: its digest and the includes it names."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_bytes()

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text).hexdigest()

    @cached_property
    def includes(self) -> list[tuple[bool, str]]:
        return includes_of(self.text.decode("utf-8", errors="replace"))


def includes_of(text: str) -> list[tuple[bool, str]]:
    """Return (quoted?, name) of each include line."""
    return [(m[1] == '"', m[2]) for m in _INCLUDE.finditer(text)]


_headers: dict[str, tuple[tuple[int, int], Header]] = {}


def _header(path: str) -> Header:
    stat = os.stat(path)
    stamp = (stat.st_mtime_ns, stat.st_size)
    found = _headers.get(path)
    if found is None or found[0] != stamp:
        found = _headers[path] = (stamp, Header(Path(path)))
    return found[1]


def closure(text: str, folders: Sequence[Path], home: Path | None = None) -> dict[str, str]:
    """Return name → sha256 of all files that `text` includes directly or indirectly and that lie in `folders` or beside the includer.

    Conditional includes count whether or not they are taken. What is not found is a system header: the compiler's identity
    stands for those.
    """
    roots = [os.path.realpath(f) for f in folders]
    seen: dict[str, str] = {}
    work = [(os.path.realpath(home) if home else "", include) for include in includes_of(text)]
    while work:
        beside, (quoted, name) = work.pop()
        path = _find(name, [beside, *roots] if quoted and beside else roots)
        if path is None or path in seen:
            continue
        header = _header(path)
        seen[path] = header.digest
        work.extend((os.path.dirname(path), include) for include in header.includes)
    return {_name(path, roots): digest for path, digest in sorted(seen.items())}


def _find(name: str, places: Sequence[str]) -> str | None:
    for place in places:
        path = os.path.normpath(f"{place}/{name}")
        if os.path.isfile(path):
            return path
    return None


def _name(path: str, roots: Sequence[str]) -> str:
    """The shortest name under one of the folders, so that keys do not depend on where the project lies."""
    names = [path[len(root) + 1 :] for root in roots if path.startswith(root + "/")]
    return min(names, key=len, default=os.path.basename(path))
