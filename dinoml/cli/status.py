"""Exit codes, and how an exception becomes one line."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

OK = 0
MISMATCH = 1  # validate: the module ran and its results are wrong
REFUSED = 2  # the command line, the model, the target or the artifact was refused; nothing was done
BUILD_FAILED = 3  # no compiler, or a generated source does not compile
INTERNAL = 70  # an error in DinoML
INTERRUPTED = 130

_BUILD = ("BuildError", "ToolchainError")
_PACKAGE = Path(__file__).resolve().parent.parent


class CliError(Exception):
    """Something the user can mend: the text names the thing, the value, the limit and the way out."""


def report(error: Exception) -> int:
    """Print an exception as `error: …` on stderr and return the exit code."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    name = type(error).__name__
    if name in _BUILD:
        return _say(text, BUILD_FAILED)
    if isinstance(error, OSError) and error.filename:
        return _say(f"{error.filename}: {error.strerror}", REFUSED)
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    # What was raised on purpose explains itself; what Python raised within a statement is a mistake in that file.
    if last is None or (last.line or "raise").startswith("raise") or type(error).__module__ != "builtins":
        return _say(text or name, REFUSED)
    if not Path(last.filename).is_relative_to(_PACKAGE):
        return _say(f"{last.filename}:{last.lineno}: {name}: {text} (--traceback shows the way there)", REFUSED)
    return _say(f"internal: {name}: {text} ({Path(last.filename).name}:{last.lineno}; --traceback shows the way there)", INTERNAL)


def _say(text: str, code: int) -> int:
    print(f"error: {text}", file=sys.stderr)
    return code
