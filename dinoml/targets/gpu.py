"""GPU archs: which names exist, and how one kernel source is compiled for them. Whole modules are not part of this version."""

from __future__ import annotations

import re

from dinoml.targets.errors import NotBuiltYetError, TargetError

DEFAULT_ARCH = {"cuda": "sm_86", "rocm": "gfx1201"}
_PATTERN = {"cuda": (r"sm_\d{2,3}[af]?", "sm_86 or sm_90a"), "rocm": (r"gfx[0-9a-f]{3,4}", "gfx90a or gfx1201")}
_DRIVER = {"cuda": "CUDA", "rocm": "HIP"}


def parse_arch(target: str, text: str) -> str:
    """Return the arch if it is spelled like one of the target; raise TargetError otherwise."""
    pattern, example = _PATTERN[target]
    if re.fullmatch(pattern, text) is None:
        raise TargetError(f"{target} arch {text!r} is no arch of this target; write it like {example}")
    return text


# No contraction, as on CPUs: a fused and an unfused float32 expression must be equal bit for bit; kernels write fma() where they want one.
_COMMON = ("-std=c++17", "-O3", "-DNDEBUG")
_CUDA = ("-fmad=false", "-Xptxas=-v", "-Xcompiler=-fPIC,-ffp-contract=off")
# Vec moves elements as words of up to 16 bytes, which clang's type-based alias analysis would take for other objects.
_ROCM = ("-x", "hip", "-fPIC", "-ffp-contract=off", "-fno-strict-aliasing", "-Rpass-analysis=kernel-resource-usage")


def compile_flags(target: str, arch: str) -> tuple[str, ...]:
    """Return the flags with which a kernel source is compiled for one arch: exact machine code, no intermediate form beside it."""
    if target == "cuda":
        number = arch.removeprefix("sm_")
        return (*_COMMON, *_CUDA, f"-gencode=arch=compute_{number},code=sm_{number}")
    return (*_ROCM, *_COMMON, f"--offload-arch={arch}")


def refuse(target: str, arch: str) -> NotBuiltYetError:
    """Return the error that says what this version has for a GPU target and what it lacks."""
    return NotBuiltYetError(
        f"target {target} ({arch}) cannot be compiled by this version. There: the graph, its passes, fusion by accessors, and {_DRIVER[target]} "
        "kernel sources that compile one by one. Missing: the build of a whole module and the runtime on the device. "
        "Compile for cpu: Target('cpu'), or --target cpu."
    )
