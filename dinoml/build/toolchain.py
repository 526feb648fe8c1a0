"""Finding a C++17 compiler."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dinoml import env
from dinoml.build.errors import ToolchainError

INSTALL_HINT = "Install one: apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora), or set CXX to a compiler"
_PROBE = "#include <type_traits>\nstatic_assert(std::is_same_v<int, int>);\nint main() {}\n"


@dataclass(frozen=True)
class Toolchain:
    """A compiler that was found and checked. `identity` is all of it that enters cache keys."""

    command: tuple[str, ...]
    kind: str  # "gcc" or "clang"
    version: tuple[int, ...]
    identity: str

    @property
    def name(self) -> str:
        """The command as one string."""
        return shlex.join(self.command)


def find_toolchain() -> Toolchain:
    """Return $CXX, else g++, else clang++; raise ToolchainError when none compiles C++17."""
    chosen = env.CXX.get()
    return _find(tuple(chosen) if chosen else None, os.environ.get("PATH", ""))


@cache
def _find(chosen: tuple[str, ...] | None, _path: str) -> Toolchain:
    """`_path` is part of the cache key only: another PATH may find another compiler."""
    problems = []
    for command in (chosen,) if chosen else (("g++",), ("clang++",)):
        where = shutil.which(command[0])
        if where is None:
            problems.append(f"{command[0]}: not found" + (" (from CXX)" if chosen else ""))
            continue
        try:
            return _check((str(where), *command[1:]))
        except ToolchainError as error:
            problems.append(str(error))
    raise ToolchainError(f"no C++17 compiler: {'; '.join(problems)}. {INSTALL_HINT}.")


def _check(command: tuple[str, ...]) -> Toolchain:
    banner = _run([*command, "--version"])
    machine = _run([*command, "-dumpmachine"]).strip()
    number = _run([*command, "-dumpfullversion", "-dumpversion"]).strip()
    probe = subprocess.run([*command, "-std=c++17", "-fsyntax-only", "-x", "c++", "-"], input=_PROBE, capture_output=True, text=True, check=False)
    if probe.returncode:
        reason = next((line for line in probe.stderr.splitlines() if "error" in line), "the probe failed")
        raise ToolchainError(f"{shlex.join(command)} ({number}) does not compile C++17: {reason}")
    kind = "clang" if "clang" in banner else "gcc"
    first = banner.splitlines()[0].strip() if banner else number
    wrapped = [] if len(command) == 1 else [shlex.join(command[1:])]
    identity = "; ".join([first, machine, _fingerprint(Path(os.path.realpath(command[0]))), *wrapped])
    return Toolchain(command, kind, tuple(int(p) for p in number.split(".") if p.isdigit()), identity)


def _fingerprint(program: Path) -> str:
    """What tells a program from another of the same version: its size, and the content where it is a script around a compiler."""
    size = program.stat().st_size
    return f"{size} bytes" if size > 1 << 16 else f"sha256 {hashlib.sha256(program.read_bytes()).hexdigest()[:16]}"


def _run(command: list[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise ToolchainError(f"{shlex.join(command)} failed: {result.stderr.strip() or result.returncode}")
    return result.stdout
