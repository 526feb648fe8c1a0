"""`dinoml cache`: how large the cache is, and making it smaller."""

from __future__ import annotations

import argparse

from dinoml import env
from dinoml.cli import output, status


def run(arguments: argparse.Namespace) -> int:
    """Show, clear or trim the object cache."""
    from dinoml.build.cache import ObjectCache

    cache = ObjectCache()
    dropped = 0
    if arguments.action == "clear":
        dropped = cache.trim(0, min_age=0.0)
    elif arguments.max_size is not None:
        try:
            limit = env.parse_bytes(arguments.max_size)
        except ValueError as error:
            raise status.CliError(f"--max-size {arguments.max_size!r} {error}") from None
        dropped = cache.trim(limit, min_age=0.0)
    entries = cache.entries()
    total = sum(e.bytes for e in entries)
    if arguments.json:
        output.print_json({"path": str(cache.root), "objects": len(entries), "bytes": total, "max_bytes": cache.max_bytes, "dropped_bytes": dropped})
        return status.OK
    output.print_pairs([
        ("folder", cache.root),
        ("objects", f"{len(entries)}, {env.show_bytes(total)} of at most {env.show_bytes(cache.max_bytes)} (DINOML_CACHE_SIZE)"),
        *([("dropped", env.show_bytes(dropped))] if arguments.action == "clear" or arguments.max_size is not None else []),
    ])  # fmt: skip
    return status.OK
