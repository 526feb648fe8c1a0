"""Compiling kernel sources for GPUs: one text, nvcc or clang, and what the compilers say about registers and spills."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dinoml.build import rocm
from dinoml.build.errors import BuildError, ToolchainError
from dinoml.build.source import include_folders
from dinoml.targets import Target
from dinoml.targets.gpu import compile_flags

SUFFIX = {"cuda": ".cu", "rocm": ".hip"}
_NVCC = ("/usr/local/cuda/bin/nvcc",)


@dataclass(frozen=True)
class Resources:
    """What one kernel takes on a GPU; `spills` counts bytes (CUDA) or registers (ROCm) that did not fit."""

    kernel: str
    registers: int
    spills: int
    stack: int
    shared: int


@cache
def find_nvcc() -> str:
    """Return nvcc; raise ToolchainError when it is not there."""
    found = shutil.which("nvcc") or next((p for p in _NVCC if Path(p).is_file()), None)
    if found is None:
        raise ToolchainError("nvcc was not found on PATH or in /usr/local/cuda/bin. Install the CUDA toolkit 12.8 or newer.")
    return found


def compiler(target: Target) -> list[str]:
    """Return the command with all flags that select target and libraries; raise ToolchainError where a tool is missing."""
    arch = str(target.arch)
    includes = [f"-I{f}" for f in include_folders()]
    if target.name == "cuda":
        return [find_nvcc(), *compile_flags("cuda", arch), *includes]
    hip = rocm.find_hip()
    libraries = rocm.device_libraries(hip, arch)
    return [hip.clang, *compile_flags("rocm", arch), f"--rocm-path={hip.root}", f"--rocm-device-lib-path={libraries}", *includes]


def compile_object(source: Path, target: Target, out: Path) -> list[Resources]:
    """Compile host and device code of a source into an object and return what its kernels take; raise BuildError with the compiler's log."""
    return _run([*compiler(target), "-c", str(source), "-o", str(out)], source, target)


def compile_device(source: Path, target: Target, out: Path) -> list[Resources]:
    """Compile the device code alone into the machine-code ELF of the arch; raise BuildError with the compiler's log."""
    only = ["-cubin"] if target.name == "cuda" else ["--cuda-device-only", "--no-gpu-bundle-output", "-c"]
    return _run([*compiler(target), *only, str(source), "-o", str(out)], source, target)


def link_library(objects: list[Path], target: Target, out: Path) -> None:
    """Link objects into a shared library that exports their entry points; the CUDA runtime is linked statically."""
    tail = ["-cudart=static"] if target.name == "cuda" else ["-lamdhip64"]
    _run([compiler(target)[0], "-shared", *map(str, objects), "-o", str(out), *tail], out, target)


def _run(command: list[str], source: Path, target: Target) -> list[Resources]:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    log = done.stderr + done.stdout
    if done.returncode:
        raise BuildError(f"{source.name} does not compile for {target}", " ".join(command), log, source)
    return _cuda_resources(log) if target.name == "cuda" else _rocm_resources(log)


def _cuda_resources(log: str) -> list[Resources]:
    """Read ptxas -v: a name line, then stack and spills, then registers."""
    frame = r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
    pattern = rf"Compiling entry function '(\S+)'.*?{frame}.*?Used (\d+) registers([^\n]*)"
    out = []
    for name, stack, stores, loads, registers, rest in re.findall(pattern, log, re.DOTALL):
        shared = re.search(r"(\d+) bytes smem", rest)
        out.append(Resources(name, int(registers), int(stores) + int(loads), int(stack), int(shared[1]) if shared else 0))
    return out


def _rocm_resources(log: str) -> list[Resources]:
    """Read clang's kernel-resource-usage remarks."""
    out = []
    for block in log.split("remark: Function Name: ")[1:] or log.split("Function Name: ")[1:]:
        numbers = {k.strip(): int(v) for k, v in re.findall(r"remark:\s+([A-Za-z ]+)(?: \[[^\]]*\])?: (\d+)", block)}
        spills = numbers.get("SGPRs Spill", 0) + numbers.get("VGPRs Spill", 0)
        out.append(Resources(block.split()[0], numbers["VGPRs"], spills, numbers["ScratchSize"], numbers["LDS Size"]))
    return out
