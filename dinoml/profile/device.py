"""The device that candidates are timed on: what it is, and how libraries for it are built.

Another kind of device is another class with the same members: libraries with the functions of csrc/profile/bench.cpp and the
kernel ABI are all that the measuring process needs.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dinoml.build.cache import ObjectCache, digest_of
from dinoml.build.compile import BuildEvent, compile_sources
from dinoml.build.errors import BuildError, first_errors
from dinoml.build.keys import key_parts
from dinoml.build.link import link_shared
from dinoml.build.source import Source, kernel_source, module_source, runtime_sources
from dinoml.build.toolchain import Toolchain, find_toolchain
from dinoml.codegen.kernel_source import KernelSource, environment
from dinoml.paths import csrc_root
from dinoml.profile.job import Progress
from dinoml.targets import Target

BENCH_EXPORTS = tuple(f"dml_bench_{n}" for n in ("default_workers", "open", "close", "block", "copy", "call", "time"))
LIBRARY_EXPORTS = ("dml_candidate", "dml_candidate_scratch")
ROOFLINE = ("dml_roofline_arithmetic", "dml_roofline_copy")
POOL = ("thread_pool.cpp", "cpu_count.cpp")


@dataclass(frozen=True)
class CpuDevice:
    """This machine's CPU, with the number of threads that choices are made for."""

    target: Target
    jobs: int | None = None

    @cached_property
    def toolchain(self) -> Toolchain:
        """The compiler."""
        return find_toolchain()

    @cached_property
    def workers(self) -> int:
        """Threads that kernels are timed with."""
        return self.target.threads or default_workers()

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What timings depend on besides kernels and extents."""
        return {"kind": "cpu", "model": cpu_model(), "cache_bytes": cache_bytes(), "threads": self.workers}

    def source(self, kernel: KernelSource) -> Source:
        """Return the translation unit of a kernel: the one that a module would hold."""
        return kernel_source(f"{kernel.name}.cpp", kernel.text, self.target, self.toolchain)

    def object_key(self, kernel: KernelSource) -> str:
        """Return the digest of everything that a kernel's object depends on."""
        return digest_of(key_parts(self.source(kernel), self.toolchain))

    def bench_library(self, folder: Path) -> Path:
        """Build the driver."""
        runtime = {s.name: s for s in runtime_sources(self.toolchain)}
        path = csrc_root() / "profile" / "bench.cpp"
        own = Source("bench.cpp", path.read_text(encoding="utf-8"), runtime[POOL[0]].flags, path.parent)
        objects = compile_sources([own, *(runtime[n] for n in POOL)], self.toolchain, jobs=self.jobs)
        return link_shared([o.path for o in objects], folder / "bench.so", self.toolchain, exports=BENCH_EXPORTS)

    def kernel_library(self, kernels: Sequence[KernelSource], folder: Path, progress: Progress) -> tuple[Path, dict[str, str]]:
        """Build one library of kernels and the roofline's two; return it and, by name, why kernels do not compile."""
        roofline = kernel_source("roofline.cpp", (csrc_root() / "profile" / "roofline.cpp").read_text(encoding="utf-8"), self.target, self.toolchain)
        unique = {k.name: k for k in kernels}
        objects, failed = self._compile({n: self.source(k) for n, k in unique.items()}, progress)
        built = [n for n in unique if n not in failed]
        table = environment().get_template("candidates.cpp.jinja").render(
            kernels=[*built, *ROOFLINE], scratches=[n for n in built if unique[n].candidate.scratch]
        )
        rest = compile_sources([roofline, module_source("candidates.cpp", table, self.toolchain)], self.toolchain, jobs=self.jobs)
        library = link_shared([*objects, *(c.path for c in rest)], folder / "candidates.so", self.toolchain, exports=LIBRARY_EXPORTS)
        return library, failed

    def _compile(self, sources: dict[str, Source], progress: Progress) -> tuple[list[Path], dict[str, str]]:
        def event(e: BuildEvent) -> None:
            progress("compile candidates", e.done, e.total)

        cache = ObjectCache()
        try:
            return [c.path for c in compile_sources(list(sources.values()), self.toolchain, jobs=self.jobs, progress=event, cache=cache)], {}
        except BuildError:
            pass
        objects, failed = [], {}  # one by one: only those that do not compile are out
        for name, source in sources.items():
            try:
                objects += [c.path for c in compile_sources([source], self.toolchain, jobs=1, cache=cache)]
            except BuildError as error:
                failed[name] = f"does not compile: {'; '.join(first_errors(error.log, 1))}"
        return objects, failed


def device_for(target: Target, jobs: int | None = None) -> CpuDevice:
    """Return the device to time a target on; raise ValueError where this machine cannot run the target's code."""
    from dinoml.targets import cpu

    if target.name != "cpu":
        raise ValueError(f"profile: this version times kernels on CPUs only, not for {target}; compile without profiling, or with a plan")
    missing = cpu.missing_on_host(target.cpu_arch)
    if missing:
        raise ValueError(
            f"profile: this machine's CPU lacks {', '.join(missing)}, so it cannot time kernels for {target}; profile elsewhere and pass the plan"
        )
    return CpuDevice(target, jobs)


def cpu_model() -> str:
    """Return what the CPU calls itself, with family and model numbers (virtual machines often hide the name)."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    first: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        first.setdefault(key.strip(), value.strip())
    return " ".join(first[k] for k in ("model name", "cpu family", "model", "stepping") if k in first) or platform.machine()


def cache_bytes() -> int:
    """Return the bytes of the last-level cache that one core sees, 32 MiB where the system does not say."""
    sizes = [32 << 20]
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")):
        text = index.read_text().strip()
        factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
        if text.rstrip("KMG").isdigit():
            sizes.append(int(text.rstrip("KMG")) * factor)
    return sizes[-1]


def memory_limit() -> int:
    """Return how many bytes of operands a measurement may use: a quarter of what is free, at most 4 GiB."""
    try:
        free = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
        available = int(free.split()[1]) << 10
    except (OSError, StopIteration, ValueError):
        available = 4 << 30
    return min(4 << 30, available // 4)


def default_workers() -> int:
    """Return what the runtime takes by default: physical cores of this process, within the control group's quota."""
    try:
        from dinoml import _native
    except ImportError:
        from dinoml import env

        return env.usable_cores()
    return int(_native.usable_cores())
