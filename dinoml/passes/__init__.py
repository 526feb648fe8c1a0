"""Graph passes: each takes and returns a Graph; none knows an operator."""

from dinoml.passes.manager import PassReport, run_passes

__all__ = ["PassReport", "run_passes"]
