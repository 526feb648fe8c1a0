"""Linking a module: one shared library that exports one function and needs only the C library."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dinoml.build import flags
from dinoml.build.errors import BuildError
from dinoml.build.toolchain import Toolchain

EXPORTS = ("dinoml_get_api",)


def link_shared(objects: Sequence[Path], out: Path, toolchain: Toolchain, *, exports: Sequence[str] = EXPORTS) -> Path:
    """Link the objects into `out`, which is replaced at once and holds the same bytes for the same objects; raise BuildError."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".link-", dir=out.parent) as name:
        folder = Path(name)
        script = folder / "exports.map"
        script.write_text("{ global: " + " ".join(f"{e};" for e in exports) + " local: *; };\n")
        inputs = folder / "objects.rsp"
        inputs.write_text("\n".join(shlex.quote(str(o)) for o in objects) + "\n")
        made = folder / out.name
        command = [*toolchain.command, f"@{inputs}", *flags.link_flags(str(script)), "-o", str(made)]
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if result.returncode:
            raise BuildError(f"{out.name} does not link", shlex.join(command), result.stderr or result.stdout)
        made.replace(out)
    return out
