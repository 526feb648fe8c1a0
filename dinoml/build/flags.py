"""Compiler and linker flags, each with its reason. Flags are part of every cache key."""

from __future__ import annotations

from dinoml.build.toolchain import Toolchain
from dinoml.targets import Target

# No contraction: a fused and an unfused float32 expression must be equal bit for bit; kernels write fma() where they want one.
# No errno, which nothing reads. Trapping math keeps its default: without it the kernels' code differs by a few instructions.
_COMMON = ("-std=c++17", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-ffp-contract=off", "-fno-math-errno")
_GNU = ("-fno-gnu-unique",)  # a module must be unloadable, and two of them must not share statics
_KERNEL = ("-fno-exceptions", "-fno-rtti", "-fno-stack-protector")
# MiniLM, one thread, against -O3: -O2 is 1 % slower at 128 tokens and 7 % at 16, -O1 5 % and 10 %. What runs once is not worth
# the compiler's time: repacking concatenated weights takes it 6.4 s at -O3 and 0.8 s at -O1.
_HOT, _RARE = "-O3", "-O1"
_RUNTIME = ("-O2", "-ffunction-sections", "-fdata-sections")


def kernel_flags(target: Target, toolchain: Toolchain, *, rare: bool = False) -> tuple[str, ...]:
    """Return the flags of generated kernel sources; `rare` ones run when constants change, not in each run."""
    return (*_common(toolchain), _RARE if rare else _HOT, *_KERNEL, *target.flags)


def runtime_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Return the flags of the runtime's and the module's own sources: any x86-64 CPU can load them and report what it lacks."""
    return (*_common(toolchain), *_RUNTIME)


def link_flags(version_script: str) -> tuple[str, ...]:
    """Return the flags that make a self-contained, reproducible shared library which exports only what the version script names."""
    return (
        "-shared", "-O2", "-static-libstdc++", "-static-libgcc", "-pthread", "-s",
        "-Wl,--exclude-libs,ALL", f"-Wl,--version-script={version_script}", "-Wl,--gc-sections", "-Wl,-O1",
        "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,--build-id=none",
    )  # fmt: skip


def _common(toolchain: Toolchain) -> tuple[str, ...]:
    return _COMMON if toolchain.kind == "clang" else _COMMON + _GNU
