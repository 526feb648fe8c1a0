"""Digests of files and of JSON: the same bytes as csrc/include/dinoml/digest.hpp and json.hpp compute."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and no spaces; raise TypeError for floats, whose text is not canonical."""
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _refuse_floats(value: Any) -> None:
    if isinstance(value, float):
        raise TypeError(f"{value!r}: a float has no canonical JSON text; store a string or an integer")
    if isinstance(value, dict):
        for item in value.values():
            _refuse_floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_floats(item)


def sha256_json(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes; raise OSError when it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fast_hash_file(path: Path) -> str:
    """Return the fast hash of a file, which guards constants against damage; raise DinoMLError when it cannot be read."""
    from dinoml import _native

    return _native.fast_hash_file(str(path))


def fast_hash(data: bytes | bytearray | memoryview) -> str:
    """Return the fast hash of bytes."""
    from dinoml import _native

    return _native.fast_hash(data)
