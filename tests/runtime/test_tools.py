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


def _build(source: Path, out: Path) -> Path:
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
    options = ("-std=c++17", "-O1", *warnings, f"-I{csrc_root() / 'include'}", "-pthread")
    command = [*find_toolchain().command, *options, str(source), "-o", str(out)]
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


class Runner:
    """dinoml-run on arrays: writes the .npy files, reads the outputs."""

    def __init__(self, program: Path, artifact: Path, folder: Path) -> None:
        self.program, self.artifact, self.folder = program, artifact, folder
        self.stdout = ""

    def __call__(self, function: str, inputs: dict[str, np.ndarray], *options: object, **constants: np.ndarray) -> dict[str, np.ndarray]:
        arguments: list[object] = ["--function", function, "--output-dir", self.folder / "out", *options]
        for option, arrays in (("--input", inputs), ("--constant", constants)):
            for name, array in arrays.items():
                np.save(self.folder / f"{name}.npy", array)
                arguments += [option, f"{name}={self.folder / name}.npy"]
        result = _run(self.program, self.artifact, *arguments)
        assert result.returncode == 0, result.stderr
        self.stdout = result.stdout
        return {p.stem: np.load(p) for p in (self.folder / "out").iterdir()}


@pytest.fixture
def runner(dinoml_run: Path, artifact: Path, tmp_path: Path) -> Runner:
    return Runner(dinoml_run, artifact, tmp_path)


def test_run(runner: Runner, x: np.ndarray, y: np.ndarray) -> None:
    outputs = runner("main", {"x": x}, "--threads", 2, "--benchmark", 3, "--verify", "full", "--debug")
    np.testing.assert_array_equal(outputs["y"], y)
    assert "y: float32[3, 3]" in runner.stdout and "3 runs: median" in runner.stdout


def test_constants_and_extents(runner: Runner) -> None:
    outputs = runner("pick", {"v": np.array([1, -1, 2, 3], np.float32), "half": np.zeros(2, np.float32)})
    assert outputs["found"].tolist() == [1, 2, 3]
    assert not runner("main", {"x": np.zeros((1, 8), np.float32)}, bias=np.zeros(3, np.float32))["y"].any()


def test_bfloat16(runner: Runner) -> None:
    outputs = runner("copy", {"h": np.array([1, 2, 3], ml_dtypes.bfloat16)})
    assert outputs["same"].view(ml_dtypes.bfloat16).tolist() == [1, 2, 3]


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
