"""What is compiled: generated kernels, the generated module description, the runtime."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dinoml.build import flags
from dinoml.build.toolchain import Toolchain
from dinoml.paths import csrc_root
from dinoml.targets import Target

# What every kernel includes first. It is compiled once for each set of flags: that is 0.3 s of the 0.36 s that a small kernel takes.
KERNEL_PREFIX = "".join(f'#include "dinoml/{name}.h"\n' for name in ("kernel", "math", "parallel", "vec"))


@dataclass(frozen=True)
class Source:
    """One translation unit. `name` is its file name, `folder` where its quoted includes are looked up first.

    `prefix` is text in front of it that many sources share; it may be compiled in advance.
    """

    name: str
    text: str
    flags: tuple[str, ...]
    folder: Path | None = None
    prefix: str = ""


def include_folders() -> tuple[Path, ...]:
    """Return where includes are looked up: `dinoml/vec.h`, `kernels/cpu/x.h`, `operators/<family>/<op>/cpu.h`."""
    root = csrc_root()
    return root / "include", root, root.parent


def kernel_source(name: str, text: str, target: Target, toolchain: Toolchain, *, rare: bool = False) -> Source:
    """Return a generated kernel source, compiled for the target's arch; one that runs rarely is compiled sooner."""
    return Source(name, text, flags.kernel_flags(target, toolchain, rare=rare), prefix=KERNEL_PREFIX)


def module_source(name: str, text: str, toolchain: Toolchain) -> Source:
    """Return a generated source without kernels, compiled for any CPU."""
    return Source(name, text, flags.runtime_flags(toolchain))


def runtime_sources(toolchain: Toolchain) -> list[Source]:
    """Return the runtime's sources, as csrc/runtime/sources.txt lists them."""
    folder = csrc_root() / "runtime"
    names = [line.strip() for line in (folder / "sources.txt").read_text().splitlines()]
    paths = [folder / name for name in names if name and not name.startswith("#")]
    chosen = flags.runtime_flags(toolchain)
    return [Source(path.name, path.read_text(), chosen, path.parent) for path in paths]
