"""`Target`: the machine and the numerics that a module is compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from typing import Any

from dinoml.targets import cpu, gpu
from dinoml.targets.errors import NotBuiltYetError, TargetError

__all__ = ["NotBuiltYetError", "Target", "TargetError"]

NAMES = ("cpu", "cuda", "rocm")
_DIALECT = {"cpu": "cpp", "cuda": "cuda", "rocm": "hip"}


@dataclass(frozen=True)
class Target:
    """What to compile for. `arch` is explicit after construction: `native` and None are resolved here.

    `tf32` and `fp16_accumulate` trade accuracy for speed and are off unless asked for; `no_tf32` and `use_fp16_acc` are the older
    spellings. `threads` is the number of threads that choices are made for (None: what the machine offers). Raises TargetError.
    """

    name: str = "cpu"
    arch: str | None = None
    no_tf32: InitVar[bool | None] = None
    use_fp16_acc: InitVar[bool | None] = None
    tf32: bool = False
    fp16_accumulate: bool = False
    threads: int | None = None

    def __post_init__(self, no_tf32: bool | None, use_fp16_acc: bool | None) -> None:
        if self.name not in NAMES:
            raise TargetError(f"target {self.name!r} is not one of {', '.join(NAMES)}")
        if no_tf32 is True and self.tf32:
            raise TargetError("target: tf32=True and no_tf32=True contradict each other; drop one")
        if use_fp16_acc is True:
            object.__setattr__(self, "fp16_accumulate", True)
        if self.threads is not None and self.threads < 1:
            raise TargetError(f"target: threads={self.threads} must be at least 1, or None for all cores")
        if self.name == "cpu":
            arch = cpu.parse_arch(self.arch or "native").name
        else:
            arch = gpu.parse_arch(self.name, self.arch or gpu.DEFAULT_ARCH[self.name])
        object.__setattr__(self, "arch", arch)

    @classmethod
    def of(cls, value: Target | str | Mapping[str, Any]) -> Target:
        """Return a target from a target, `"cpu"`, `"cuda:sm_86"`, or a mapping of the constructor's arguments."""
        if isinstance(value, Target):
            return value
        if isinstance(value, str):
            name, _, arch = value.partition(":")
            return cls(name, arch or None)
        return cls(**value)

    def check_available(self) -> None:
        """Raise NotBuiltYetError unless modules can be compiled for this target; call it before any work."""
        if self.name != "cpu":
            raise gpu.refuse(self.name, str(self.arch))

    @property
    def dialect(self) -> str:
        """The language of generated code: cpp, cuda or hip."""
        return _DIALECT[self.name]

    @property
    def cpu_arch(self) -> cpu.CpuArch:
        """Level and extensions of a cpu target; raises TargetError for others."""
        if self.name != "cpu":
            raise TargetError(f"target {self} has no CPU level")
        return cpu.parse_arch(str(self.arch))

    @property
    def features(self) -> tuple[str, ...]:
        """CPU features that the module needs, as the manifest lists them (empty for GPUs)."""
        return self.cpu_arch.features if self.name == "cpu" else ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler flags that select this arch for kernel sources."""
        return self.cpu_arch.flags if self.name == "cpu" else ()

    @property
    def vector_bytes(self) -> int:
        """Bytes of the widest vector that one access moves."""
        return self.cpu_arch.level.vector_bytes if self.name == "cpu" else 16

    def has(self, feature: str) -> bool:
        """Return whether kernels may use a CPU feature."""
        return cpu.feature_name(feature) in self.features

    @property
    def key(self) -> dict[str, Any]:
        """The parts that results depend on, for cache keys and digests."""
        return {"name": self.name, "arch": self.arch, "tf32": self.tf32, "fp16_accumulate": self.fp16_accumulate}

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; `Target.of` reads it back."""
        return {**self.key, **({} if self.threads is None else {"threads": self.threads})}

    def __str__(self) -> str:
        extras = "".join(f", {k}" for k in ("tf32", "fp16_accumulate") if getattr(self, k))
        return f"{self.name} ({self.arch}{extras})"
