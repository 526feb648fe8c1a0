"""The generated index of operators: what is needed before a spec is read, cached for the user and rebuilt where files changed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from dinoml import paths
from dinoml.operators import spec as specs

VERSION = 1


@dataclass(frozen=True)
class Entry:
    """One operator folder; `aliases` are its other public names."""

    name: str
    kind: str
    summary: str
    path: str
    stamp: str
    aliases: tuple[str, ...]
    sugar: tuple[str, ...]
    internal: bool


def _stamp(path: Path) -> str:
    s = path.stat()
    return f"{s.st_mtime_ns}:{s.st_size}"


def _scan(root: Path) -> dict[str, str]:
    """Return {path relative to root: stamp} of all specs."""
    found: dict[str, str] = {}
    for family in sorted(os.scandir(root), key=lambda e: e.name):
        if not family.is_dir() or family.name.startswith((".", "_")):
            continue
        for op in sorted(os.scandir(family.path), key=lambda e: e.name):
            path = Path(op.path, "spec.yaml")
            if op.is_dir() and path.is_file():
                found[f"{family.name}/{op.name}/spec.yaml"] = _stamp(path)
    return found


def _entry(root: Path, relative: str, stamp: str) -> Entry:
    s = specs.load(root / relative)
    if s.name != Path(relative).parent.name:
        raise specs.SpecError(f"{root / relative}: name: {s.name!r} differs from its folder")
    return Entry(s.name, s.kind, s.summary, relative, stamp, tuple(a.name for a in s.aliases), s.sugar, s.internal)


class Index:
    """All operators by name, alias and sugar; raises SpecError when a name is taken twice."""

    def __init__(self, root: Path, entries: list[Entry]) -> None:
        self.root = root
        self.entries = {e.name: e for e in entries}
        self.public: dict[str, str] = {}
        self.sugar: dict[str, str] = {}
        for e in entries:
            for name in (e.name, *e.aliases):
                if self.public.setdefault(name, e.name) != e.name or (name != e.name and name in self.entries):
                    raise specs.SpecError(f"the operator name {name!r} is taken by {self.public[name]} and by {e.name}")
            for s in e.sugar:
                base, _, alias = s.partition("=")  # "method:sum" or "method:swish=swish" through an alias
                if base in self.sugar:
                    raise specs.SpecError(f"the sugar {base!r} is taken by {self.sugar[base]} and by {e.name}")
                self.sugar[base] = alias or e.name


def _cache_file(root: Path) -> Path:
    key = hashlib.sha256(str(root).encode()).hexdigest()[:16]
    return paths.cache_root() / f"operator-index-{key}.json"


def _read_cache(path: Path) -> dict[str, Entry]:
    try:
        data = json.loads(path.read_text())
        if data["version"] != VERSION:
            return {}
        return {e["path"]: Entry(**{**e, "sugar": tuple(e["sugar"]), "aliases": tuple(e["aliases"])}) for e in data["entries"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _write_cache(path: Path, entries: list[Entry]) -> None:
    """Write the cache; a folder that cannot be written only costs the next process time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({"version": VERSION, "entries": [asdict(e) for e in entries]}))
        temporary.replace(path)
    except OSError:
        return


def build(root: Path) -> Index:
    """Return the index of a folder of operators, reading only the specs that changed since the last time."""
    cache = _cache_file(root)
    old = _read_cache(cache)
    entries, changed = [], False
    found = _scan(root)
    for relative, stamp in found.items():
        entry = old.get(relative)
        if entry is None or entry.stamp != stamp:
            entry, changed = _entry(root, relative, stamp), True
        entries.append(entry)
    if changed or len(old) != len(found):
        _write_cache(cache, entries)
    return Index(root, entries)
