"""What loading and running can raise: one class per status of the C ABI (csrc/include/dinoml/dinoml.h)."""

from __future__ import annotations


class DinoMLError(RuntimeError):
    """Base of everything that the runtime raises."""


class ArgumentError(DinoMLError, ValueError):
    """A wrong count, a wrong kind of object, an option that does not exist."""


class UnknownNameError(DinoMLError, KeyError):
    """A function, input, output, constant or state that there is not, or an input that is missing."""

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0]) if self.args else ""


class ShapeError(DinoMLError, ValueError):
    """An extent differs from what it must be."""


class DTypeError(DinoMLError, TypeError):
    """Another dtype than declared; nothing is cast at run time."""


class DimRangeError(ShapeError):
    """A dim is outside min..max or not a multiple of divisible_by."""


class DeviceError(DinoMLError, ValueError):
    """A tensor on another device."""


class NotContiguousError(DinoMLError, ValueError):
    """A tensor that a zero-copy run would have to copy."""


class OverlapError(DinoMLError, ValueError):
    """An output shares memory with an input or another output."""


class DamagedArtifactError(DinoMLError):
    """A file of the artifact is missing or not what was written."""


class UnsupportedArtifactError(DinoMLError):
    """The artifact is of another format or ABI version, or no artifact at all."""


class MissingCpuFeatureError(DinoMLError):
    """The artifact needs CPU features that this machine lacks."""


class BusyError(DinoMLError):
    """The session or module is in use."""


class ClosedError(DinoMLError):
    """The session or module is closed."""


class ConstantsNotLoadedError(DinoMLError):
    """A constant has no value, or replacing one needs others too."""


class KernelError(DinoMLError):
    """A kernel failed."""


class IndexOutOfRangeError(DinoMLError, IndexError):
    """A run-time index was out of range; the outputs of that run are not valid."""


class ArtifactMemoryError(DinoMLError, MemoryError):
    """The runtime got no memory."""


class ArtifactIOError(DinoMLError, OSError):
    """A file cannot be read."""


class AbortedError(DinoMLError):
    """A trace callback stopped the run."""


class InternalError(DinoMLError):
    """Something that should not happen."""


_BY_STATUS: dict[int, type[DinoMLError]] = {
    1: ArgumentError, 2: UnknownNameError, 3: ShapeError, 4: DTypeError, 5: DimRangeError, 6: DeviceError, 7: NotContiguousError,
    8: OverlapError, 9: DamagedArtifactError, 10: UnsupportedArtifactError, 11: MissingCpuFeatureError, 12: BusyError, 13: ClosedError,
    14: ConstantsNotLoadedError, 15: KernelError, 16: IndexOutOfRangeError, 17: ArtifactMemoryError, 18: ArtifactIOError, 19: AbortedError,
    20: InternalError,
}  # fmt: skip


def from_status(status: int, message: str) -> DinoMLError:
    """Return the exception for a status of the C ABI; dinoml._native raises it."""
    return _BY_STATUS.get(status, InternalError)(message)
