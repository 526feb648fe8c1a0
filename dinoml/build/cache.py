"""The object cache: one folder per key with the object, its source and the named parts of the key.

Entries are made in a temporary folder and renamed into place, so a reader never sees half of one. Processes may share a
cache: a lock per key keeps them from compiling the same source twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from dinoml import env

# Entries used more recently are not evicted: a build that has found them may not have linked them yet.
MIN_AGE_S = 3600.0


def digest_of(parts: Mapping[str, Any]) -> str:
    """Return the key for named parts."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:40]


@dataclass(frozen=True)
class Entry:
    """One entry as eviction sees it."""

    folder: Path
    bytes: int
    used: float


class ObjectCache:
    """A bounded cache in `root` (default: DINOML_CACHE_DIR/objects, DINOML_CACHE_SIZE)."""

    def __init__(self, root: Path | None = None, max_bytes: int | None = None) -> None:
        self.root = (root or env.CACHE_DIR.get() / "objects").absolute()
        self.max_bytes = env.CACHE_SIZE.get() if max_bytes is None else max_bytes
        self.root.mkdir(parents=True, exist_ok=True)

    def folder(self, key: str) -> Path:
        """Where the entry of a key is or will be."""
        return self.root / key[:2] / key

    def find(self, key: str, name: str) -> Path | None:
        """Return a file of an entry and mark the entry as used, or None."""
        folder = self.folder(key)
        path = folder / name
        try:
            if not path.stat().st_size:
                return None
            os.utime(folder)
        except OSError:
            return None
        return path

    @contextmanager
    def lock(self, key: str) -> Iterator[None]:
        """Hold the lock that keeps others from making the same entry (shared by 1/256 of all keys)."""
        locks = self.root / "locks"
        locks.mkdir(exist_ok=True)
        with FileLock(locks / f"{key[:2]}.lock"):
            yield

    @contextmanager
    def workspace(self) -> Iterator[Path]:
        """A temporary folder on the cache's file system, removed afterwards."""
        folder = Path(tempfile.mkdtemp(prefix=".new-", dir=self.root))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, key: str, folder: Path) -> Path:
        """Rename a finished folder into place and return its new path; called with the lock of the key held."""
        target = self.folder(key)
        target.parent.mkdir(exist_ok=True)
        size = _size(folder)
        try:
            folder.rename(target)
        except OSError:
            # An entry that `find` did not accept is damaged: replace it.
            shutil.rmtree(target, ignore_errors=True)
            folder.rename(target)
        self._grow(size)
        return target

    def keep_failed(self, key: str, files: Mapping[str, str]) -> Path:
        """Keep the files of a failed compile and return their folder."""
        folder = self.root / "failed" / key
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        return folder

    def entries(self) -> list[Entry]:
        """Return all entries, failed ones included, least recently used first."""
        found = []
        for group in self.root.iterdir():
            if group.name == "locks" or group.name.startswith(".") or not group.is_dir():
                continue
            for folder in group.iterdir():
                try:
                    found.append(Entry(folder, _size(folder), folder.stat().st_mtime))
                except OSError:
                    continue
        return sorted(found, key=lambda e: e.used)

    def trim(self, max_bytes: int | None = None, min_age: float = MIN_AGE_S) -> int:
        """Drop the least recently used entries until at most `max_bytes` remain; return the bytes dropped."""
        limit = self.max_bytes if max_bytes is None else max_bytes
        with FileLock(self.root / "trim.lock"):
            self._sweep_workspaces()
            entries = self.entries()
            total, dropped, now = sum(e.bytes for e in entries), 0, time.time()
            for entry in entries:
                if total - dropped <= limit or now - entry.used < min_age:
                    break
                shutil.rmtree(entry.folder, ignore_errors=True)
                dropped += entry.bytes
            self._total_path.write_text(str(total - dropped))
        return dropped

    @property
    def _total_path(self) -> Path:
        return self.root / "total"

    def _grow(self, size: int) -> None:
        """Keep an estimate of the total, so that entries are counted only when the limit seems passed."""
        with FileLock(self.root / "total.lock"):
            try:
                total = int(self._total_path.read_text())
            except (OSError, ValueError):
                total = 0
            self._total_path.write_text(str(total + size))
        if total + size > self.max_bytes:
            self.trim()

    def _sweep_workspaces(self) -> None:
        """Remove what killed processes left behind."""
        for folder in self.root.glob(".new-*"):
            try:
                if time.time() - folder.stat().st_mtime > MIN_AGE_S:
                    shutil.rmtree(folder, ignore_errors=True)
            except OSError:
                continue


def _size(folder: Path) -> int:
    return sum(f.stat().st_size for f in os.scandir(folder) if f.is_file())
