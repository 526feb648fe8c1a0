"""Every error is one line that names the thing and the way out, with a documented exit code."""

import subprocess
import sys
import time

import pytest

from dinoml.cli import status
from dinoml.cli.parser import build_parser


def test_help_is_quick():
    command = [sys.executable, "-m", "dinoml.cli", "--help"]
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        best = min(best, time.perf_counter() - start)
    assert "compile" in done.stdout
    assert best < 0.4


def test_help_imports_neither_numpy_nor_rich():
    program = "import sys; from dinoml.cli.parser import build_parser; build_parser().format_help(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "rich", "jinja2", "yaml", "dinoml.ir.graph"} & set(loaded)


@pytest.mark.parametrize("target", [("cuda", "sm_86"), ("rocm", "gfx1201")])
def test_gpu_targets_are_refused_before_any_work(dinoml, tmp_path, target):
    done = dinoml("compile", tmp_path / "missing.py", "--out", tmp_path / "x", "--target", target[0], "--arch", target[1])
    assert done.code == status.REFUSED
    assert done.err.startswith(f"error: target {target[0]} ({target[1]}) cannot be compiled")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--arch", "avx9"], "cpu arch 'avx9'"),
        (["--build-spec-kwarg", "x"], "--build-spec-kwarg 'x': write KEY=JSON"),
        (["--build-spec-kwarg", "x=1"], "build_spec() has no argument 'x'"),
        (["--execution-plan", "no.json"], "--execution-plan no.json: no such file"),
        (["--dtype", "float16"], "build_spec() has no argument 'dtype'"),
        (["--profile-shape", "batch=a"], "--profile-shape 'batch=a'"),
    ],
)
def test_compile_refuses_with_one_line(dinoml, model, tmp_path, arguments, text):
    done = dinoml("compile", model, "--out", tmp_path / "x", *arguments)
    assert (done.code, done.err.count("\n")) == (status.REFUSED, 1)
    assert done.err.startswith("error: ")
    assert text in done.err
    assert not (tmp_path / "x").exists()


def test_a_mistake_in_the_model_file_names_its_line(dinoml, tmp_path):
    path = tmp_path / "model.py"
    path.write_text("def build_spec():\n    return 1 + None\n")
    done = dinoml("compile", path, "--out", tmp_path / "x")
    assert done.code == status.REFUSED
    assert f"{path}:2: TypeError" in done.err


def test_traceback_on_request(dinoml, tmp_path):
    path = tmp_path / "model.py"
    path.write_text("def build_spec():\n    return 1 + None\n")
    with pytest.raises(TypeError):
        dinoml("compile", path, "--out", tmp_path / "x", "--traceback")


def test_a_mistake_inside_the_package_is_said_to_be_one(capsys):
    with pytest.raises(IndexError) as caught:
        exec(compile("[][0]", status.__file__, "exec"))
    assert status.report(caught.value) == status.INTERNAL
    assert "error: internal: IndexError" in capsys.readouterr().err


def test_a_broken_compiler_has_its_own_code(dinoml, model, tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    done = dinoml("compile", model, "--out", tmp_path / "x")
    assert done.code == status.BUILD_FAILED
    assert "apt-get install g++" in done.err


@pytest.mark.parametrize("command", ["inspect", "explain", "benchmark"])
def test_what_is_no_artifact_is_refused(dinoml, tmp_path, command):
    for path in (tmp_path, tmp_path / "missing"):
        done = dinoml(command, path)
        assert done.code == status.REFUSED
        assert "artifact" in done.err


def test_every_command_takes_json_and_traceback():
    actions = next(a for a in build_parser()._actions if a.dest == "command")
    for name, parser in actions.choices.items():
        options = {o for action in parser._actions for o in action.option_strings}
        assert {"--json", "--traceback"} <= options, name
