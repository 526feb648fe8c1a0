"""What can go wrong between a source and a library."""

from __future__ import annotations

from pathlib import Path


class ToolchainError(RuntimeError):
    """There is no usable C++ compiler. The text says how to get one."""


class BuildError(RuntimeError):
    """A compiler or linker run failed. `source` is kept for inspection, `log` is the whole output."""

    def __init__(self, what: str, command: str, log: str, source: Path | None = None) -> None:
        lines = first_errors(log)
        kept = f"\n  source kept: {source}" if source else ""
        super().__init__(f"{what}\n" + "\n".join(f"  {line}" for line in lines) + f"{kept}\n  command: {command}")
        self.what, self.command, self.log, self.source = what, command, log, source


def first_errors(log: str, limit: int = 5) -> list[str]:
    """Return the first lines of a compiler's output that say what is wrong, or its last lines."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line or "undefined reference" in line or "undefined symbol" in line]
    return errors[:limit] if errors else lines[-limit:]
