"""Compiler and linker flags, each with its reason. Flags are part of every cache key."""

from __future__ import annotations

from dinoml.build.toolchain import Toolchain
from dinoml.targets import Target

# No contraction: a fused and an unfused float32 expression must be equal bit for bit; kernels write fma() where they want one.
# No errno, which nothing reads. Trapping math keeps its default: without it the kernels' code differs by a few instructions.
_COMMON = ("-std=c++17", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-ffp-contract=off", "-fno-math-errno")
_GNU = ("-fno-gnu-unique",)  # a module must be unloadable, and two of them must not share statics
_KERNEL = ("-O3", "-fno-exceptions", "-fno-rtti", "-fno-stack-protector")
_RUNTIME = ("-O2", "-ffunction-sections", "-fdata-sections")


def kernel_flags(target: Target, toolchain: Toolchain) -> tuple[str, ...]:
    """Return the flags of generated kernel sources."""
    return (*_common(toolchain), *_KERNEL, *target.flags)


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
