"""manifest.json: what an artifact is, and the digests of its files. The only writer; read by C++ as well (artifact.hpp).

Keys:
- `format_version`, `abi_version`: of the folder and of module.so; other versions are refused.
- `name`: the model's. `target`: `name`, `arch`, `features` (CPU features that the kernels need, named as gcc's -m options).
- `functions`: `name`, `inputs`, `outputs`; a tensor has `name`, `dtype`, `shape`. An axis is an integer, or what
  `dinoml.ir.shapes.to_json` makes of an expression (`{"dim": "batch"}`, `{"op": "*", "args": […]}`), or `{"extent": axis}`: known
  after the run only, at most `axis`.
- `dims`: `name`, `min`, `max`, `divisible_by`, `typical`, `buckets`.
- `constants`: `policy` ("eager" or "deferred"), `sources` (as the author named them; `stored`: whether that tensor lies in the
  file unchanged), `stored` (what lies in constants.safetensors).
- `states`: tensors.
- `files`: per file `bytes`, `sha256`, and `fast_hash` for constants.
- `module_digest`: equals the digest inside module.so. `created_by`: versions of what made it, free text.
- `digest`: SHA-256 of the canonical JSON of everything else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dinoml.artifact import digest

FORMAT_VERSION = 1
ABI_VERSION = 1
MANIFEST = "manifest.json"
CONSTANTS = "constants.safetensors"
UNCHECKED = ("src", "report")  # folders that running does not need; they may be deleted

Axis = int | Mapping[str, Any]


@dataclass(frozen=True)
class TensorEntry:
    """An input, output, constant or state. `stored` matters for source constants only."""

    name: str
    dtype: str
    shape: tuple[Axis, ...]
    stored: bool = True

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form without `stored`."""
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> TensorEntry:
        """Return the tensor of a JSON form; raise KeyError when a key is missing."""
        return TensorEntry(value["name"], value["dtype"], tuple(value["shape"]), value.get("stored", True))


@dataclass(frozen=True)
class FunctionEntry:
    """One entry point."""

    name: str
    inputs: tuple[TensorEntry, ...]
    outputs: tuple[TensorEntry, ...]


@dataclass(frozen=True)
class DimEntry:
    """A named dimension."""

    name: str
    min: int
    max: int
    divisible_by: int = 1
    typical: int | None = None
    buckets: tuple[int, ...] = ()


@dataclass(frozen=True)
class TargetEntry:
    """What the artifact was compiled for."""

    name: str
    arch: str
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileEntry:
    """Size and digests of one file."""

    bytes: int
    sha256: str
    fast_hash: str | None = None


@dataclass(frozen=True)
class Manifest:
    """The contents of manifest.json. `files` and `digest` are filled by `seal`."""

    name: str
    target: TargetEntry
    module_digest: str
    functions: tuple[FunctionEntry, ...]
    dims: tuple[DimEntry, ...] = ()
    constant_policy: str = "eager"
    sources: tuple[TensorEntry, ...] = ()
    stored: tuple[TensorEntry, ...] = ()
    states: tuple[TensorEntry, ...] = ()
    created_by: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, FileEntry] = field(default_factory=dict)
    digest: str = ""
    format_version: int = FORMAT_VERSION
    abi_version: int = ABI_VERSION

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, `digest` included."""
        return {
            "format_version": self.format_version,
            "abi_version": self.abi_version,
            "name": self.name,
            "target": {"name": self.target.name, "arch": self.target.arch, "features": list(self.target.features)},
            "functions": [
                {"name": f.name, "inputs": [t.to_json() for t in f.inputs], "outputs": [t.to_json() for t in f.outputs]} for f in self.functions
            ],
            "dims": [_dim_json(d) for d in self.dims],
            "constants": {
                "policy": self.constant_policy,
                "sources": [{**t.to_json(), "stored": t.stored} for t in self.sources],
                "stored": [t.to_json() for t in self.stored],
            },
            "states": [t.to_json() for t in self.states],
            "files": {name: _file_json(f) for name, f in sorted(self.files.items())},
            "module_digest": self.module_digest,
            "created_by": dict(self.created_by),
            "digest": self.digest,
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Manifest:
        """Return the manifest of a JSON form of this version; raise KeyError when a key is missing."""
        target, constants = value["target"], value["constants"]
        return Manifest(
            name=value["name"],
            target=TargetEntry(target["name"], target["arch"], tuple(target["features"])),
            module_digest=value["module_digest"],
            functions=tuple(FunctionEntry(f["name"], _tensors(f["inputs"]), _tensors(f["outputs"])) for f in value["functions"]),
            dims=tuple(
                DimEntry(d["name"], d["min"], d["max"], d["divisible_by"], d.get("typical"), tuple(d.get("buckets", ()))) for d in value["dims"]
            ),
            constant_policy=constants["policy"],
            sources=_tensors(constants["sources"]),
            stored=_tensors(constants["stored"]),
            states=_tensors(value["states"]),
            created_by=value["created_by"],
            files={name: FileEntry(f["bytes"], f["sha256"], f.get("fast_hash")) for name, f in value["files"].items()},
            digest=value["digest"],
            format_version=value["format_version"],
            abi_version=value["abi_version"],
        )


def _tensors(values: list[Mapping[str, Any]]) -> tuple[TensorEntry, ...]:
    return tuple(TensorEntry.from_json(v) for v in values)


def _dim_json(d: DimEntry) -> dict[str, Any]:
    out: dict[str, Any] = {"name": d.name, "min": d.min, "max": d.max, "divisible_by": d.divisible_by}
    if d.typical is not None:
        out["typical"] = d.typical
    if d.buckets:
        out["buckets"] = list(d.buckets)
    return out


def _file_json(f: FileEntry) -> dict[str, Any]:
    out: dict[str, Any] = {"bytes": f.bytes, "sha256": f.sha256}
    if f.fast_hash is not None:
        out["fast_hash"] = f.fast_hash
    return out


def axis_text(axis: Axis) -> str:
    """Return an axis as a reader writes it: `8`, `batch`, `2*seq + 1`, `<= batch*4` for a run-time extent."""
    match axis:
        case int():
            return str(axis)
        case {"dim": name}:
            return str(name)
        case {"extent": capacity}:
            return f"<= {axis_text(capacity)}"
        case {"op": "min" | "max" as op, "args": args}:
            return f"{op}({', '.join(axis_text(a) for a in args)})"
        case {"op": "+", "args": args}:
            return " + ".join(axis_text(a) for a in args).replace("+ -", "- ")
        case {"op": op, "args": args}:
            return f" {op} ".join(f"({t})" if " " in t else t for t in map(axis_text, args)).replace(" * ", "*")
    return str(axis)


def seal(folder: Path, manifest: Manifest) -> Manifest:
    """Record size and digests of every file that running needs, write manifest.json last, and return what was written.

    Files under src/ and report/ are left out. Whoever replaces an artifact that may be loaded writes a new folder and renames it:
    module.so and the constants are mapped, so their files must never be rewritten in place.
    """
    files: dict[str, FileEntry] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.relative_to(folder).as_posix()
        if name == MANIFEST or name.split("/")[0] in UNCHECKED:
            continue
        fast = digest.fast_hash_file(path) if name == CONSTANTS else None
        files[name] = FileEntry(path.stat().st_size, digest.sha256_file(path), fast)
    sealed = replace(manifest, files=files, digest="")
    rest = sealed.to_json()
    del rest["digest"]
    sealed = replace(sealed, digest=digest.sha256_json(rest))
    made = folder / f".{MANIFEST}.{os.getpid()}"
    made.write_text(json.dumps(sealed.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    made.replace(folder / MANIFEST)
    return sealed
