"""A damaged, foreign or newer artifact is refused, with the reason, before its code runs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dinoml import runtime
from dinoml.artifact import manifest as m
from dinoml.artifact.digest import canonical_json, fast_hash, sha256_json
from dinoml.artifact.reader import Artifact
from dinoml.runtime import errors

CHECKED = ("module.so", "constants.safetensors", "graph.json", "kernels.json", "plan.json")


def _edit(folder: Path, change: Callable[[dict[str, Any]], object], *, sign: bool = True) -> None:
    path = folder / m.MANIFEST
    value = json.loads(path.read_text())
    change(value)
    if sign:
        value.pop("digest", None)
        value["digest"] = sha256_json(value)
    path.write_text(json.dumps(value))


def _refused(folder: Path, error: type[Exception], message: str, **options: Any) -> None:
    with pytest.raises(error, match=message) as caught:
        runtime.load(folder, **options)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("verify", ["fast", "full"])
def test_flipped_byte(copied: Path, name: str, verify: str) -> None:
    data = bytearray((copied / name).read_bytes())
    for at in (0, len(data) // 2, len(data) - 1):
        data[at] ^= 0x10
        (copied / name).write_bytes(data)
        _refused(copied, errors.DamagedArtifactError, re.escape(name) + ".*damaged.*digest differs", verify=verify)
        data[at] ^= 0x10


@pytest.mark.parametrize("name", CHECKED)
def test_truncated(copied: Path, name: str) -> None:
    data = (copied / name).read_bytes()
    for size in (0, len(data) // 2, len(data) - 1):
        (copied / name).write_bytes(data[:size])
        _refused(copied, errors.DamagedArtifactError, f"it has {size} bytes, expected {len(data)}")


@pytest.mark.parametrize("name", [*CHECKED, m.MANIFEST])
def test_missing(copied: Path, name: str) -> None:
    (copied / name).unlink()
    _refused(copied, errors.DamagedArtifactError, re.escape(name) + ".*No such file")


@pytest.mark.parametrize("name", CHECKED)
def test_folder_in_place_of_a_file(copied: Path, name: str) -> None:
    (copied / name).unlink()
    (copied / name).mkdir()
    _refused(copied, errors.DinoMLError, re.escape(name))


def test_optional_folders_may_go(copied: Path) -> None:
    shutil.rmtree(copied / "report")
    (copied / "notes.txt").write_text("mine")
    runtime.load(copied).close()


def test_nothing_there(tmp_path: Path) -> None:
    _refused(tmp_path / "none.dinoml", errors.DamagedArtifactError, "not a DinoML artifact")
    (tmp_path / "file").write_text("x")
    _refused(tmp_path / "file", errors.DamagedArtifactError, "not a DinoML artifact")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('{"artifact_schema_version": 3, "runtime_abi_version": 7}', errors.UnsupportedArtifactError, "not the manifest of a DinoML artifact"),
        ("[1, 2]", errors.UnsupportedArtifactError, "not the manifest"),
        ("", errors.DamagedArtifactError, "not valid: ends early"),
        ("{", errors.DamagedArtifactError, "not valid"),
        ('{"format_version": 1, "format_version": 1}', errors.DamagedArtifactError, "occurs twice"),
        ('{"format_version": 1, "abi_version": 1}', errors.DamagedArtifactError, '"digest" is missing'),
        ("\x00\x01binary", errors.DamagedArtifactError, "not valid"),
    ],
)
def test_foreign_manifest(copied: Path, text: str, error: type[Exception], message: str) -> None:
    (copied / m.MANIFEST).write_text(text)
    _refused(copied, error, message)


def test_edited_manifest(copied: Path) -> None:
    _edit(copied, lambda v: v.update(name="other"), sign=False)
    _refused(copied, errors.DamagedArtifactError, "do not match its own digest")


@pytest.mark.parametrize("key", ["name", "target", "constants", "files", "module_digest"])
def test_incomplete_manifest(copied: Path, key: str) -> None:
    _edit(copied, lambda v: v.pop(key))
    _refused(copied, errors.DamagedArtifactError, f'key "{key}" is missing')


@pytest.mark.parametrize("key", ["format_version", "abi_version"])
def test_newer(copied: Path, key: str) -> None:
    _edit(copied, lambda v: v.update({key: 2}))
    _refused(copied, errors.UnsupportedArtifactError, "(format|ABI) 2, but this runtime .* 1. Upgrade dinoml, or compile the model again")
    with pytest.raises(errors.UnsupportedArtifactError, match="2, this version reads 1"):
        Artifact(copied)


def test_file_outside_the_folder(copied: Path) -> None:
    _edit(copied, lambda v: v["files"].update({"../x": {"bytes": 1, "sha256": ""}}))
    _refused(copied, errors.DamagedArtifactError, "leaves the folder")


def test_cpu_features(copied: Path) -> None:
    _edit(copied, lambda v: v["target"].update(features=["sse3", "avx99", "amx-later"]))
    _refused(copied, errors.MissingCpuFeatureError, "lacks: avx99, amx-later.*arch=")


def test_expected_digest(artifact: Path) -> None:
    with runtime.load(artifact) as module:
        digest = module.digest
    runtime.load(artifact, expected_digest=digest).close()
    _refused(artifact, errors.DamagedArtifactError, f"digest is {digest}, expected 00", expected_digest="00")


def test_module_of_another_manifest(copied: Path) -> None:
    m.seal(copied, replace(Artifact(copied).manifest, module_digest="other"))
    _refused(copied, errors.DamagedArtifactError, "belongs to another manifest")


def test_not_a_module(copied: Path) -> None:
    manifest = Artifact(copied).manifest
    (copied / "module.so").write_bytes(b"\x7fELF nothing")
    m.seal(copied, manifest)
    _refused(copied, errors.DamagedArtifactError, "module.so: cannot be loaded")


def _write_constants(folder: Path, header: dict[str, Any], data: bytes) -> None:
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    (folder / m.CONSTANTS).write_bytes(len(text).to_bytes(8, "little") + text + data)
    m.seal(folder, Artifact(folder).manifest)


def _entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"weight_t": _entry("F32", [3, 8], 0, 96)}, "another dtype or shape"),
        ({"weight_t": _entry("F16", [8, 3], 0, 48)}, "another dtype or shape"),
        ({"weight_t": _entry("F32", [8, 3], 0, 92)}, "outside the file or has the wrong size"),
        ({"weight_t": _entry("F32", [8, 3], 192, 288)}, "outside the file or has the wrong size"),
        ({"weight_t": _entry("F32", [8, 3], 32, 128)}, "not 64-byte aligned"),
        ({"stranger": _entry("F32", [8, 3], 0, 96)}, "not constants of this module"),
        ({"weight_t": {"dtype": "F32"}}, "header is not valid"),
    ],
)
def test_constants_of_another_module(copied: Path, header: dict[str, Any], message: str) -> None:
    """Digests agree here: the runtime's own checks refuse."""
    _write_constants(copied, header, bytes(192))
    _refused(copied, errors.DamagedArtifactError, message)


def test_constants_header(copied: Path) -> None:
    for data in (b"", b"\x01", (1 << 60).to_bytes(8, "little"), (8).to_bytes(8, "little") + b'{"a": 1'):
        (copied / m.CONSTANTS).write_bytes(data)
        m.seal(copied, Artifact(copied).manifest)
        _refused(copied, errors.DamagedArtifactError, "safetensors")


def test_absent_constant_must_be_set(copied: Path, x: np.ndarray) -> None:
    _write_constants(copied, {"weight_t": _entry("F32", [8, 3], 0, 96), "bias": _entry("F32", [3], 128, 140)}, bytes(192))
    with runtime.load(copied) as module:
        session = module.create_session()
        with pytest.raises(errors.ConstantsNotLoadedError, match='"table" has no value'):
            session.run_numpy({"x": x})
        module.set_constants({"a": np.ones(2, np.float32), "b": np.ones(2, np.float32)})
        assert not session.run_numpy({"x": x})["y"].any()


def test_deferred_constants_are_checked_when_loaded(copied: Path) -> None:
    data = bytearray((copied / m.CONSTANTS).read_bytes())
    data[-1] ^= 1
    (copied / m.CONSTANTS).write_bytes(data)
    with runtime.load(copied, constants="deferred") as module, pytest.raises(errors.DamagedArtifactError, match="digest differs"):
        module.load_constants()


@pytest.mark.parametrize("options", [{"constants": "lazy"}, {"verify": "none"}])
def test_options(artifact: Path, options: dict[str, str]) -> None:
    with pytest.raises(errors.ArgumentError, match="expected"):
        runtime.load(artifact, **options)


def test_replaced_while_loaded(copied: Path, link: Callable[[str, Path], None], fixture_source: str, x: np.ndarray, y: np.ndarray) -> None:
    """The old module goes on; a new load of the same path gets the new code."""
    manifest = Artifact(copied).manifest
    with runtime.load(copied) as old:
        session = old.create_session()
        np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)
        for turn in (1, 2):
            fresh = Path(shutil.copytree(copied, copied.with_name(f"fresh{turn}.dinoml")))
            link(fixture_source.replace("t[i] + b[i % n[1]]", f"t[i] + b[i % n[1]] + {turn}000"), fresh / "module.so")
            m.seal(fresh, manifest)
            copied.rename(copied.with_name(f"old{turn}.dinoml"))
            fresh.rename(copied)
            with runtime.load(copied) as new:
                np.testing.assert_array_equal(new.create_session().run_numpy({"x": x})["y"], y + 1000 * turn)
            np.testing.assert_array_equal(session.run_numpy({"x": x})["y"], y)


def test_manifest_round_trip(artifact: Path) -> None:
    manifest = Artifact(artifact).manifest
    assert m.Manifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest
    assert manifest.stored[0].shape == (8, 3) and manifest.functions[2].outputs[0].shape == ({"extent": {"dim": "even"}},)


def test_reader(artifact: Path, copied: Path) -> None:
    assert Artifact(artifact).read_json("graph.json") == {"schema": 1}
    Artifact(artifact).verify(full=True)
    assert Artifact(artifact).stored_constants()["bias"].tolist() == [1, 2, 3]
    (copied / "graph.json").write_text("{")
    with pytest.raises(errors.DamagedArtifactError):
        Artifact(copied).read_json("graph.json")
    with pytest.raises(errors.DamagedArtifactError):
        Artifact(copied).verify()


def test_canonical_json() -> None:
    value = {"b": [1, True, None, 'é\n\x01"\\'], "a": {}}
    assert canonical_json(value) == '{"a":{},"b":[1,true,null,"é\\n\\u0001\\"\\\\"]}'
    with pytest.raises(TypeError, match="no canonical"):
        canonical_json({"a": [1.5]})


def test_odd_names_survive(copied: Path) -> None:
    """C++ and Python agree on the canonical text of any name."""
    m.seal(copied, replace(Artifact(copied).manifest, name='é \U0001f996 "q" \\ \x1f\x7f/', created_by={"z": "1", "é": "2", "Z": "3"}))
    runtime.load(copied).close()


def test_fast_hash_sees_any_flipped_bit() -> None:
    rng = np.random.default_rng(0)
    for size in (0, 1, 31, 32, 33, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20):
        data = rng.integers(0, 256, size, dtype=np.uint8)
        seen = {fast_hash(data.tobytes()), fast_hash(data.tobytes() + b"\0")}
        places = rng.integers(0, size * 8, 20 if size else 0)
        for place in np.unique(places):
            data[place // 8] ^= 1 << (place % 8)
            seen.add(fast_hash(data.tobytes()))
            data[place // 8] ^= 1 << (place % 8)
        assert len(seen) == 2 + len(np.unique(places))


def test_fast_hash_sees_moved_blocks() -> None:
    data = np.random.default_rng(1).integers(0, 256, 4 << 20, dtype=np.uint8)
    swapped = np.concatenate([data[1 << 20 : 2 << 20], data[: 1 << 20], data[2 << 20 :]])
    assert fast_hash(data.tobytes()) != fast_hash(swapped.tobytes())
