"""The C++ loader and dinoml-run, built and run as programs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from dinoml.build import find_toolchain
from dinoml.paths import csrc_root

HERE = Path(__file__).parent


def _build(source: Path, out: Path, *flags: str) -> Path:
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
    command = [*find_toolchain().command, "-std=c++17", "-O1", *warnings, *flags, f"-I{csrc_root() / 'include'}", str(source), "-o", str(out), "-pthread"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return out


@pytest.fixture(scope="module")
def dinoml_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(csrc_root() / "tools" / "dinoml_run.cpp", tmp_path_factory.mktemp("tool") / "dinoml-run")


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, check=False, timeout=60)


def test_loader(artifact: Path, tmp_path: Path) -> None:
    result = _run(_build(HERE / "loader_test.cpp", tmp_path / "loader"), artifact)
    assert result.returncode == 0, result.stdout + result.stderr


def test_header_is_c(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = tmp_path / "use.c"
    source.write_text('#include "dinoml/dinoml.h"\nint main(void) { return (int)dinoml_dtype_bytes(dinoml_bfloat16) - 2; }\n')
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([compiler, *flags, f"-I{csrc_root() / 'include'}", source, "-o", tmp_path / "use"], check=True)
    subprocess.run([tmp_path / "use"], check=True)


def test_module_exports_one_symbol(artifact: Path) -> None:
    listing = _run("nm", "-D", "--defined-only", artifact / "module.so")
    assert [line.split()[-1] for line in listing.stdout.splitlines()] == ["dinoml_get_api"]
    needed = _run("readelf", "-d", artifact / "module.so").stdout
    assert not re.search(r"NEEDED.*(stdc\+\+|gcc_s|gomp)", needed)


def test_interface(dinoml_run: Path, artifact: Path) -> None:
    result = _run(dinoml_run, artifact)
    assert result.returncode == 0, result.stderr
    assert "input x: float32[batch(1..4), 8]" in result.stdout and "state counter: int64[1]" in result.stdout


def test_run(dinoml_run: Path, artifact: Path, tmp_path: Path, x: np.ndarray, y: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", x)
    result = _run(dinoml_run, artifact, "--input", f"x={tmp_path / 'x.npy'}", "--function", "main", "--threads", 2, "--output-dir", tmp_path / "out", "--benchmark", 3)
    assert result.returncode == 0, result.stderr
    assert "y: float32[3, 3]" in result.stdout and "3 runs: median" in result.stdout
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), y)


def test_constants_and_extents(dinoml_run: Path, artifact: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([1, -1, 2, 3], np.float32))
    np.save(tmp_path / "half.npy", np.zeros(2, np.float32))
    result = _run(dinoml_run, artifact, "--function", "pick", "--input", f"v={tmp_path / 'v.npy'}", "--input", f"half={tmp_path / 'half.npy'}", "--output-dir", tmp_path)
    assert result.returncode == 0, result.stderr
    assert np.load(tmp_path / "found.npy").tolist() == [1, 2, 3]
    np.save(tmp_path / "bias.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "x.npy", np.zeros((1, 8), np.float32))
    result = _run(dinoml_run, artifact, "--function", "main", "--input", f"x={tmp_path / 'x.npy'}", "--constant", f"bias={tmp_path / 'bias.npy'}", "--output-dir", tmp_path)
    assert result.returncode == 0, result.stderr
    assert not np.load(tmp_path / "y.npy").any()


def test_bfloat16(dinoml_run: Path, artifact: Path, tmp_path: Path) -> None:
    h = np.array([1, 2, 3], ml_dtypes.bfloat16)
    np.save(tmp_path / "h.npy", h)
    result = _run(dinoml_run, artifact, "--function", "copy", "--input", f"h={tmp_path / 'h.npy'}", "--output-dir", tmp_path)
    assert result.returncode == 0, result.stderr
    assert np.load(tmp_path / "same.npy").view(ml_dtypes.bfloat16).tolist() == [1, 2, 3]


def test_usage(dinoml_run: Path, artifact: Path, tmp_path: Path, x: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(x))
    (tmp_path / "text.npy").write_text("not an array")
    for arguments, message in (
        ((), "no artifact"),
        ((artifact, "--nothing", "1"), "unknown option --nothing"),
        ((artifact, "--threads", "0"), "positive number"),
        ((artifact, "--input", "x"), "NAME=FILE"),
        ((artifact, "--function", "main", "--input", f"x={tmp_path / 'x.npy'}"), "column-major"),
        ((artifact, "--function", "main", "--input", f"x={tmp_path / 'text.npy'}"), "not a .npy file"),
        ((artifact, "--function", "main", "--benchmark", "1"), 'input "x" is missing'),
    ):
        result = _run(dinoml_run, *arguments)
        assert result.returncode == 2 and message in result.stderr, (arguments, result.stderr)
    result = _run(dinoml_run, tmp_path)
    assert result.returncode == 1 and "not a DinoML artifact" in result.stderr
    assert _run(dinoml_run, "--help").stdout.startswith("usage:")
