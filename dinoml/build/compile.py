"""Compiling sources in parallel, each at most once per content."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from dinoml import env
from dinoml.build import prefix
from dinoml.build.cache import ObjectCache, digest_of
from dinoml.build.errors import BuildError
from dinoml.build.keys import KEY, OBJECT, PREFIX, flags_of, key_parts
from dinoml.build.source import Source
from dinoml.build.toolchain import Toolchain


@dataclass(frozen=True)
class Compiled:
    """An object in the cache. `seconds` is what compiling it took, when it was compiled."""

    name: str
    path: Path
    key: str
    seconds: float
    cached: bool


@dataclass(frozen=True)
class BuildEvent:
    """One object is there: `done` of `total`."""

    compiled: Compiled
    done: int
    total: int


Progress = Callable[[BuildEvent], None]


def compile_sources(
    sources: Sequence[Source],
    toolchain: Toolchain,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: ObjectCache | None = None,
) -> list[Compiled]:
    """Return one object per source, in order, compiling what the cache lacks; raise BuildError on the first failure.

    Sources of equal content are compiled once.
    """
    cache = cache or ObjectCache()
    keys = [digest_of(key_parts(source, toolchain)) for source in sources]
    unique = dict(zip(keys, sources))
    done: dict[str, Compiled] = {}

    def add(key: str, compiled: Compiled) -> None:
        done[key] = compiled
        if progress:
            progress(BuildEvent(compiled, len(done), len(unique)))

    for key, source in unique.items():
        found = _cached(source, key, cache)
        if found:
            add(key, found)
    missing = {key: source for key, source in unique.items() if key not in done}
    with ThreadPoolExecutor(max_workers=max(1, jobs or env.JOBS.get())) as pool:
        prefixes = prefix.start(list(missing.values()), toolchain, cache, pool)
        # Sources that wait for a prefix come last, so that a worker has something else to do meanwhile.
        ordered = sorted(missing.items(), key=lambda item: bool(item[1].prefix))
        futures = {pool.submit(_compile, s, key, toolchain, cache, prefixes.get(prefix.group(s))): key for key, s in ordered}
        try:
            for future in as_completed(futures):
                add(futures[future], future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [done[key] for key in keys]


def compile_objects(
    sources: Sequence[Source],
    toolchain: Toolchain,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: ObjectCache | None = None,
) -> list[Path]:
    """Return the paths of the objects of `compile_sources`."""
    return [c.path for c in compile_sources(sources, toolchain, jobs=jobs, progress=progress, cache=cache)]


def _compile(source: Source, key: str, toolchain: Toolchain, cache: ObjectCache, ready: Future[Path | None] | None) -> Compiled:
    compiled_prefix = ready.result() if ready else None
    with cache.lock(key):
        return _cached(source, key, cache) or _build(source, key, toolchain, cache, compiled_prefix)


def _cached(source: Source, key: str, cache: ObjectCache) -> Compiled | None:
    path = cache.find(key, OBJECT)
    if path is None:
        return None
    try:
        record = json.loads((path.parent / KEY).read_text())
        if path.stat().st_size != record["bytes"]:
            return None
    except (OSError, ValueError, KeyError):
        return None
    return Compiled(source.name, path, key, record["seconds"], True)


def _build(source: Source, key: str, toolchain: Toolchain, cache: ObjectCache, compiled_prefix: Path | None) -> Compiled:
    files = {source.name: source.text, **({PREFIX: source.prefix} if source.prefix else {})}
    plain = _command(source, toolchain, Path(PREFIX))
    with cache.workspace() as folder:
        for name, text in files.items():
            (folder / name).write_text(text)
        start = time.perf_counter()
        done = _run(_command(source, toolchain, compiled_prefix) if compiled_prefix else plain, folder)
        if done.returncode and compiled_prefix:
            done = _run(plain, folder)  # a precompiled prefix that this compiler process cannot map is no reason to fail
        seconds = round(time.perf_counter() - start, 3)
        if done.returncode:
            log = done.stderr or done.stdout
            kept = cache.keep_failed(key, {**files, "log.txt": log}) / source.name
            raise BuildError(f"{source.name} does not compile", shlex.join(plain), log, kept)
        size = (folder / OBJECT).stat().st_size
        record = {"name": source.name, "seconds": seconds, "bytes": size, "command": shlex.join(plain), "key": key_parts(source, toolchain)}
        (folder / KEY).write_text(json.dumps(record, indent=1) + "\n")
        return Compiled(source.name, cache.publish(key, folder) / OBJECT, key, seconds, False)


def _command(source: Source, toolchain: Toolchain, prefix_header: Path) -> list[str]:
    """The compile command, to be run in the folder that holds the source."""
    before = ["-include", str(prefix_header)] if source.prefix else []
    return [*toolchain.command, *flags_of(source), *before, "-c", source.name, "-o", OBJECT]


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
