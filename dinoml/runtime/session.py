"""A session: the memory, states and threads of one user of a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dinoml import _native
from dinoml.runtime.benchmark import BenchmarkResult, kernel_times

if TYPE_CHECKING:
    from dinoml.runtime.module import Module

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class TraceEvent:
    """A step that has just run. Operands have kind, name, dtype, nbytes and numpy(), a flat copy; they are valid in the callback only."""

    function: str
    step: int
    kernel: str
    node: str
    source: str
    operands: tuple[_native.TraceOperand, ...]


class Session:
    """Runs the functions of a module. One thread at a time: a second one gets BusyError."""

    def __init__(self, module: Module, native: _native.Session) -> None:
        self.module = module
        self._native = native

    def run_numpy(self, inputs: Mapping[str, Array], *, function: str | None = None) -> dict[str, Array]:
        """Return the outputs as fresh arrays. Inputs that are not contiguous are copied; nothing is cast.

        bfloat16 and float8 arrays have the dtypes of `ml_dtypes`. function: None takes the only one, or "main".
        """
        return self._native.run_numpy(inputs if isinstance(inputs, dict) else dict(inputs), function or "")

    def run(self, inputs: Mapping[str, Any], *, function: str | None = None, out: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run without copying: inputs are NumPy arrays or anything with `__dlpack__` on the CPU, contiguous and of the declared dtype.

        Outputs are fresh objects with `__dlpack__` and `numpy()`, or those given in `out` (of the full shape, see `infer_shapes`), which may
        share no memory with inputs. Raises NotContiguousError for what would have to be copied.
        """
        return self._native.run(dict(inputs), function or "", dict(out or {}))

    def benchmark(
        self, inputs: Mapping[str, Array], *, warmup: int = 5, iterations: int = 20, per_kernel: bool = False, function: str | None = None
    ) -> BenchmarkResult:
        """Return native wall times of repeated runs on the same buffers; with per_kernel also those of each step."""
        run_ns, step_ns = self._native.benchmark(dict(inputs), function or "", warmup, iterations, per_kernel)
        steps = self.module.function(function).steps
        return BenchmarkResult(run_ns, kernel_times(step_ns, steps) if per_kernel else ())

    def infer_shapes(self, inputs: Mapping[str, Array], *, function: str | None = None) -> dict[str, tuple[int, ...]]:
        """Return the shapes that the outputs will have for these inputs; the capacity along run-time extents."""
        return self._native.infer_shapes(dict(inputs), function or "")

    def get_output_shape(self, output: str, *, function: str | None = None) -> tuple[int, ...]:
        """Return the shape that an output had in the last run."""
        return self._native.output_shape(output, function or "")

    def set_trace(self, callback: Callable[[TraceEvent], object] | None) -> None:
        """Call `callback` after each step; an exception from it ends the run and is raised. None stops tracing."""

        def forward(function: str, step: int, kernel: str, node: str, source: str, operands: list[_native.TraceOperand]) -> None:
            assert callback is not None
            callback(TraceEvent(function, step, kernel, node, source, tuple(operands)))

        self._native.set_trace(forward if callback is not None else None)

    def get_state_numpy(self, name: str) -> Array:
        """Return a copy of a state."""
        return self._native.get_state(name)

    def set_state_numpy(self, name: str, array: Array) -> None:
        """Replace the contents of a state."""
        self._native.set_state(name, array)

    def reset_states(self, name: str | None = None) -> None:
        """Fill one state, or all, with zeros."""
        self._native.reset_states(name)

    @property
    def info(self) -> dict[str, Any]:
        """threads, debug, and the bytes that arena, scratch and states hold now."""
        return self._native.info()

    def trim(self) -> None:
        """Free arena and scratch until the next run."""
        self._native.trim()

    def close(self) -> None:
        """Free everything; raise BusyError while a run is in progress. Closing twice does nothing."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
