"""Failures of reading an artifact: the runtime's own classes, so that one `except` covers Python and native checks."""

from dinoml.runtime.errors import DamagedArtifactError, DinoMLError, UnsupportedArtifactError

__all__ = ["DamagedArtifactError", "DinoMLError", "UnsupportedArtifactError"]
