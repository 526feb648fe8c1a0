"""Every environment variable that DinoML reads. No other module looks into the environment."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Variable(Generic[T]):
    """One environment variable. None of them changes what a compiled module computes."""

    name: str
    default: str  # as shown to the user
    doc: str
    parse: Callable[[str], T]
    fallback: Callable[[], T]

    def get(self) -> T:
        """Return the parsed value, or the default where it is unset or empty; raise ValueError naming the variable."""
        text = os.environ.get(self.name, "").strip()
        if not text:
            return self.fallback()
        try:
            return self.parse(text)
        except ValueError as error:
            raise ValueError(f"environment variable {self.name}={text!r}: {error}") from None


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_bytes(text: str) -> int:
    """Return a size such as `500M`, `2GiB` or `1048576` in bytes; raise ValueError otherwise."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError("is no size; write bytes or a number with K, M, G or T, for example 2G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def show_bytes(count: float) -> str:
    """Return a size for people: `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise ValueError("must be a whole number of at least 1")
    return int(text)


def _cache_dir() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("dinoml", appauthor=False))


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


CACHE_DIR: Variable[Path] = Variable(
    "DINOML_CACHE_DIR", "the user's cache folder", "Where compiled objects and timings are kept.", lambda t: Path(t).expanduser(), _cache_dir
)
CACHE_SIZE: Variable[int] = Variable(
    "DINOML_CACHE_SIZE", "2G", "Size above which the least recently used objects are dropped.", parse_bytes, lambda: 2 << 30
)
JOBS: Variable[int] = Variable("DINOML_JOBS", "usable cores", "Compiler processes that run at a time.", _positive, usable_cores)
CXX: Variable[list[str]] = Variable(
    "CXX", "g++, else clang++", "The C++ compiler, with leading arguments if needed (`ccache g++`).", shlex.split, list
)

TABLE: tuple[Variable[Any], ...] = (CACHE_DIR, CACHE_SIZE, JOBS, CXX)
