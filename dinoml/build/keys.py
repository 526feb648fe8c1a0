"""The cache key of a source: named parts that hold everything its object depends on."""

from __future__ import annotations

import hashlib
from typing import Any

from dinoml.build.includes import closure
from dinoml.build.source import Source, include_folders
from dinoml.build.toolchain import Toolchain

SCHEMA = 1
# Files of a cache entry, beside the source.
OBJECT, KEY, PREFIX = "object.o", "key.json", "prefix.h"


def key_parts(source: Source, toolchain: Toolchain) -> dict[str, Any]:
    """Return the named parts of a source's cache key."""
    return {
        "schema": SCHEMA,
        "compiler": toolchain.identity,
        "flags": list(source.flags),
        "prefix": source.prefix,
        "source": hashlib.sha256(source.text.encode()).hexdigest(),
        "includes": closure(source.prefix + source.text, include_folders(), source.folder),
    }


def flags_of(source: Source) -> list[str]:
    """Return the flags of a source with its include folders, whose names do not reach the object."""
    folders = [*([source.folder] if source.folder else []), *include_folders()]
    return [*source.flags, *(f"-I{f}" for f in folders), *(f"-ffile-prefix-map={f}=." for f in folders)]
