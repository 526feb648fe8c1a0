"""Reading an artifact as data: its manifest and JSON files, without loading any native code of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from dinoml.artifact.errors import DamagedArtifactError, UnsupportedArtifactError
from dinoml.artifact.manifest import ABI_VERSION, CONSTANTS, FORMAT_VERSION, MANIFEST, Manifest
from dinoml.artifact.safetensors_file import map_tensors


class Artifact:
    """An artifact folder with a readable manifest. Raises UnsupportedArtifactError or DamagedArtifactError otherwise."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        value = self.read_json(MANIFEST)
        if not isinstance(value, dict) or not isinstance(value.get("format_version"), int):
            raise UnsupportedArtifactError(f"{self.path / MANIFEST}: not the manifest of a DinoML artifact (format_version is missing)")
        for key, known in (("format_version", FORMAT_VERSION), ("abi_version", ABI_VERSION)):
            if value.get(key) != known:
                raise UnsupportedArtifactError(
                    f"{self.path / MANIFEST}: {key} is {value.get(key)}, this version reads {known}. Upgrade dinoml, or compile the model again"
                )
        try:
            self.manifest = Manifest.from_json(value)
        except (KeyError, TypeError, AttributeError) as error:
            raise DamagedArtifactError(f"{self.path / MANIFEST}: the artifact is damaged: {error!r}") from error

    def read_json(self, name: str) -> Any:
        """Return a JSON file of the folder; raise DamagedArtifactError when it is missing or no JSON."""
        path = self.path / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise DamagedArtifactError(f"{path}: the artifact is damaged or this is none: {error}") from error

    def verify(self, *, full: bool = False) -> None:
        """Compare all files with their digests; raise DamagedArtifactError for the first that differs."""
        from dinoml import _native

        _native.verify_artifact(str(self.path), full, True)

    def stored_constants(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the stored constants as read-only arrays over the mapped file."""
        return map_tensors(self.path / CONSTANTS) if self.manifest.stored else {}
