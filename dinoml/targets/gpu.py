"""GPU archs: which names exist. Compiling for them is not part of this version."""

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


def refuse(target: str, arch: str) -> NotBuiltYetError:
    """Return the error that says what this version has for a GPU target and what it lacks."""
    return NotBuiltYetError(
        f"target {target} ({arch}) cannot be compiled by this version. There: the graph, the passes, fusion by accessors and the "
        f"accessor sources, which are target-neutral. Missing: {_DRIVER[target]} kernel templates, the device build and the device runtime. "
        "Compile for cpu: Target('cpu'), or --target cpu."
    )
