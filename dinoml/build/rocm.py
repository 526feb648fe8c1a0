"""Finding a HIP compiler, and the device libraries for GPUs that a packaged ROCm is older than.

A full ROCm brings everything. Distributions package HIP headers and device libraries of ROCm 5 beside newer clangs: those lack
only the control file of newer GPUs, `oclc_isa_version_<id>.bc`, which defines one constant. It is made here, once, in the cache.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dinoml import paths
from dinoml.build.errors import ToolchainError

INSTALL_HINT = "apt-get install clang-19 clang-tools-19 lld-19 libamdhip64-dev rocm-device-libs (Debian), or install ROCm in /opt/rocm"
_ROOTS = ("/opt/rocm", "/usr")
_CLANGS = ("clang++", "clang++-19", "clang++-18")
_LIBRARIES = ("amdgcn/bitcode", "lib/amdgcn/bitcode", "lib/x86_64-linux-gnu/amdgcn/bitcode")
_CONTROL = '__attribute__((weak, visibility("protected"))) extern __constant const int __oclc_ISA_version = {number};\n'


@dataclass(frozen=True)
class HipCompiler:
    """A clang with HIP headers and device libraries. `libraries` is the folder of the packaged bitcode."""

    clang: str
    root: str
    libraries: Path
    identity: str


@cache
def find_hip() -> HipCompiler:
    """Return the compiler of a ROCm in /opt/rocm, else a packaged clang with packaged HIP; raise ToolchainError naming what is missing."""
    for root in _ROOTS:
        libraries = next((Path(root) / rest for rest in _LIBRARIES if (Path(root) / rest / "ocml.bc").is_file()), None)
        if libraries is None or not (Path(root) / "include/hip/hip_runtime.h").is_file():
            continue
        own = Path(root) / "llvm/bin/clang++"
        clang = str(own) if own.is_file() else next((found for name in _CLANGS if (found := shutil.which(name)) and _new_enough(found)), None)
        if clang is not None:
            banner = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0].strip()
            return HipCompiler(clang, root, libraries, f"{banner}; {_content(libraries / 'ocml.bc')}")
    raise ToolchainError(f"no HIP compiler: looked for hip/hip_runtime.h, ocml.bc and clang 18 or 19 under {', '.join(_ROOTS)}. {INSTALL_HINT}.")


def _new_enough(clang: str) -> bool:
    text = subprocess.run([clang, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)", text)
    return found is not None and 18 <= int(found[1]) < 20  # later ones want another set of control files


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def isa_number(arch: str) -> int:
    """Return the number by which device libraries know an arch: gfx1100 is 11000, gfx90a is 9010."""
    major, minor, stepping = arch[3:-2], arch[-2], arch[-1]
    return int(major) * 1000 + int(minor, 16) * 100 + int(stepping, 16)


def device_libraries(hip: HipCompiler, arch: str) -> Path:
    """Return a folder with everything that clang links for `arch`: the packaged one, or one in the cache with the missing file added."""
    name = f"oclc_isa_version_{arch.removeprefix('gfx')}.bc"
    if (hip.libraries / name).is_file():
        return hip.libraries
    key = hashlib.sha256(f"{hip.identity}\n{_CONTROL}\n{arch}".encode()).hexdigest()[:16]
    folder = paths.cache_root() / "rocm" / f"{arch}-{key}"
    if not folder.is_dir():
        _make(hip, arch, name, folder)
    return folder


def _make(hip: HipCompiler, arch: str, name: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as scratch:
        made = Path(scratch) / "bitcode"
        made.mkdir()
        for path in hip.libraries.glob("*.bc"):
            (made / path.name).symlink_to(path)
        language = ["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib"]
        command = [hip.clang, *language, "-O1", "-w", "-emit-llvm", "-c", "-", "-o", str(made / name)]
        done = subprocess.run(command, input=_CONTROL.format(number=isa_number(arch)), capture_output=True, text=True, check=False)
        if done.returncode:
            raise ToolchainError(f"the device library {name} cannot be made with {hip.clang}: {done.stderr.strip()}")
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():  # another process may have been faster
                raise
