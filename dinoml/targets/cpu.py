"""CPU levels: named sets of instruction-set extensions, their compiler flags, and what the host has.

A CPU arch is `<level>` or `<level>+<extension>+…`, for example `avx512+avx512bf16+avx512vnni`. Features have the names of
gcc's -m options, which are also those of csrc/include/dinoml/cpu_features.hpp.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dinoml.targets.errors import TargetError

_V2 = ("ssse3", "sse4.1", "sse4.2", "popcnt")
_AVX2 = ("avx", "avx2", "fma", "f16c", "bmi", "bmi2")
_AVX512 = ("avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd")
EXTENSIONS = ("avx512bf16", "avx512vnni")
_CPUINFO = {"sse4_1": "sse4.1", "sse4_2": "sse4.2", "bmi1": "bmi", "avx512_bf16": "avx512bf16", "avx512_vnni": "avx512vnni"}


@dataclass(frozen=True)
class CpuLevel:
    """One level. `vector_bytes` is the width of its SIMD registers."""

    name: str
    features: tuple[str, ...]
    vector_bytes: int
    tuning: tuple[str, ...]


# Tuning is kept apart from features: it may change the speed of the code, never where it runs.
LEVELS: dict[str, CpuLevel] = {
    level.name: level
    for level in (
        CpuLevel("x86-64-v2", _V2, 16, ("-mtune=generic",)),
        CpuLevel("avx2", _V2 + _AVX2, 32, ("-mtune=generic",)),
        CpuLevel("avx512", _V2 + _AVX2 + _AVX512, 64, ("-mtune=generic", "-mprefer-vector-width=512")),
    )
}
_ALIASES = {"x86-64-v3": "avx2", "x86-64-v4": "avx512", "baseline": "x86-64-v2"}


@dataclass(frozen=True)
class CpuArch:
    """A level and extensions beyond it."""

    level: CpuLevel
    extensions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The canonical spelling."""
        return "+".join((self.level.name, *self.extensions))

    @property
    def features(self) -> tuple[str, ...]:
        """All features that the code may use."""
        return self.level.features + self.extensions

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler flags of kernels for this arch."""
        return tuple(f"-m{f}" for f in self.features) + self.level.tuning


def feature_name(text: str) -> str:
    """Return a feature's name for the spelling of /proc/cpuinfo or gcc."""
    return _CPUINFO.get(text, text)


def parse_arch(text: str) -> CpuArch:
    """Return the CPU arch for a canonical name, an alias or `native`; raise TargetError naming the choices."""
    if text == "native":
        return parse_arch(host_arch())
    head, *spelled = text.split("+")
    extensions = [feature_name(e) for e in spelled]
    level = LEVELS.get(_ALIASES.get(head, head))
    if level is None:
        raise TargetError(f"cpu arch {text!r}: level {head!r} is not one of {', '.join(LEVELS)} (or native)")
    for extension in extensions:
        if extension not in EXTENSIONS:
            raise TargetError(f"cpu arch {text!r}: extension {extension!r} is not one of {', '.join(EXTENSIONS)}")
        if level.name != "avx512":
            raise TargetError(f"cpu arch {text!r}: {extension} needs level avx512, not {level.name}")
    return CpuArch(level, tuple(e for e in EXTENSIONS if e in extensions))


@cache
def host_features() -> frozenset[str]:
    """Return the features of the host's CPU that the operating system lets programs use (empty where there is no /proc/cpuinfo)."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    flags = next((line.split(":", 1)[1].split() for line in lines if line.startswith("flags")), [])
    return frozenset(feature_name(f) for f in flags)


def arch_for(features: frozenset[str]) -> str | None:
    """Return the best arch whose features are all present, or None when even the lowest level is not."""
    for level in reversed(LEVELS.values()):
        if features.issuperset(level.features):
            extensions = tuple(e for e in EXTENSIONS if level.name == "avx512" and e in features)
            return CpuArch(level, extensions).name
    return None


def host_arch() -> str:
    """Return what `native` stands for on this machine; raise TargetError where DinoML has no level for it."""
    machine = platform.machine()
    if machine not in ("x86_64", "AMD64"):
        raise TargetError(f"cpu arch native: this machine is {machine}; code is generated for x86-64 only. Name an arch, e.g. avx2, to cross-compile")
    arch = arch_for(host_features())
    if arch is None:
        missing = [f for f in _V2 if f not in host_features()]
        raise TargetError(f"cpu arch native: the CPU lacks {', '.join(missing)}, which the lowest level x86-64-v2 needs")
    return arch


def missing_on_host(arch: CpuArch) -> tuple[str, ...]:
    """Return the features of `arch` that this machine's CPU lacks."""
    return tuple(f for f in arch.features if f not in host_features())
