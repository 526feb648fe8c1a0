"""The `dinoml` command. Each command's module is imported when it runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from dinoml.cli.parser import build_parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (see dinoml/cli/status.py)."""
    arguments = build_parser().parse_args(argv)
    from dinoml.cli import status

    try:
        command = importlib.import_module(f"dinoml.cli.{arguments.module}")
        return int(command.run(arguments))
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output has gone, as `| head` does
        return status.OK
    except KeyboardInterrupt:
        return status.INTERRUPTED
    except Exception as error:
        if arguments.traceback:
            raise
        return status.report(error)
