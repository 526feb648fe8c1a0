"""Timings that were taken before, in a SQLite file of the user's cache folder.

A key is a digest over problem, candidate object, extents, device and method, so an entry never becomes wrong, only unused.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dinoml import env
from dinoml.build.cache import digest_of
from dinoml.profile.job import Timing

METHOD = 3  # number of the way of measuring: raise it when timings of older versions are not comparable


class TimingCache:
    """Looks up and stores timings. Several processes may use the file at once."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or env.CACHE_DIR.get() / "timings.sqlite"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(self.path, timeout=30)
        self._db.execute("CREATE TABLE IF NOT EXISTS timings (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        self._db.commit()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @staticmethod
    def key(problem: str, candidate: str, point: Mapping[str, int], device: Mapping[str, Any]) -> str:
        """Return the key of a candidate (the digest of its object) at one set of extents."""
        return digest_of({"method": METHOD, "problem": problem, "candidate": candidate, "point": dict(point), "device": dict(device)})

    def get(self, key: str, samples: int) -> Timing | None:
        """Return a timing that was asked to have at least `samples` samples."""
        value = self.value(key)
        if value is None or value["asked"] < samples:
            return None
        return Timing(**value["timing"])

    def put(self, items: Iterable[tuple[str, Timing]], samples: int) -> None:
        """Store timings that were asked to have `samples` samples."""
        self.store((key, {"asked": samples, "timing": asdict(t)}) for key, t in items)

    def value(self, key: str) -> dict[str, Any] | None:
        """Return what is stored under a key."""
        row = self._db.execute("SELECT value FROM timings WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def store(self, items: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Store values under their keys."""
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO timings VALUES (?, ?)", [(k, json.dumps(v)) for k, v in items])
