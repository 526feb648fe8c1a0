"""Prefixes compiled in advance (gcc's precompiled headers): the same objects, sooner."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from dinoml.build.cache import ObjectCache, digest_of
from dinoml.build.keys import KEY, PREFIX, flags_of, key_parts
from dinoml.build.source import Source
from dinoml.build.toolchain import Toolchain

COMPILED = PREFIX + ".gch"
# Compiling a prefix takes as long as compiling two small kernels without it.
WORTH_IT = 3

Group = tuple[str, tuple[str, ...]]


def group(source: Source) -> Group:
    """Return what sources must share to use one compiled prefix."""
    return source.prefix, source.flags


def start(sources: Sequence[Source], toolchain: Toolchain, cache: ObjectCache, pool: ThreadPoolExecutor) -> dict[Group, Future[Path | None]]:
    """Start compiling prefixes that pay; each future gives the path to include, or None where plain text must do."""
    if toolchain.kind != "gcc":
        return {}
    counts = Counter(group(s) for s in sources if s.prefix)
    futures = {}
    for text, flags in counts:
        source = Source(PREFIX, text, flags)
        key = digest_of({"prefix": True, **key_parts(source, toolchain)})
        if counts[text, flags] >= WORTH_IT or cache.find(key, COMPILED):
            futures[text, flags] = pool.submit(_ready, source, key, toolchain, cache)
    return futures


def _ready(source: Source, key: str, toolchain: Toolchain, cache: ObjectCache) -> Path | None:
    with cache.lock(key):
        if cache.find(key, COMPILED) is None and not _build(source, key, toolchain, cache):
            return None
    return cache.folder(key) / PREFIX


def _build(source: Source, key: str, toolchain: Toolchain, cache: ObjectCache) -> bool:
    with cache.workspace() as folder:
        (folder / PREFIX).write_text(source.text)
        command = [*toolchain.command, *flags_of(source), "-x", "c++-header", PREFIX, "-o", COMPILED]
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
            return False  # whatever is wrong is reported for the sources that include it
        (folder / KEY).write_text(json.dumps({"name": COMPILED, "key": key_parts(source, toolchain)}, indent=1) + "\n")
        cache.publish(key, folder)
        return True
