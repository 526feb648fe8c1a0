"""The wheel: what is in it, and that it compiles and runs the README's model in an empty environment, away from the repository."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.packaging, pytest.mark.slow]

RUN = """
import sys, numpy as np, dinoml
from dinoml import runtime
assert "torch" not in sys.modules and "yaml" not in sys.modules
session = runtime.load(sys.argv[1]).create_session()
x = np.arange(24, dtype=np.float32).reshape(3, 8)
print(dinoml.__file__, session.run_numpy({"x": x})["y"].shape)
"""


def call(*command, cwd):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def readme_model():
    """The first Python block of the README, which is a model file."""
    return re.findall(r"```python\n(# linear\.py\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, "-C", f"build-dir={folder / 'build'}", ROOT, cwd=folder)
    return next(folder.glob("dinoml-*.whl"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("environment")
    call(sys.executable, "-m", "venv", folder, cwd=folder)
    call(folder / "bin" / "pip", "install", "--quiet", wheel, cwd=folder)
    return folder


def test_the_wheel_holds_what_compiling_needs_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("dinoml/py.typed", "dinoml/_data/csrc/include/dinoml/vec.h", "dinoml/_data/csrc/runtime/sources.txt"):
        assert needed in names
    specs = {n.removeprefix("dinoml/_data/operators/") for n in names if n.startswith("dinoml/_data/operators/") and n.endswith("spec.yaml")}
    assert specs == {str(p.relative_to(ROOT / "operators")) for p in (ROOT / "operators").rglob("spec.yaml")}
    assert any(n.startswith("dinoml/_native.") for n in names)
    assert not [n for n in names if n.startswith(("tests/", "dinoml/_data/csrc/python/")) or "__pycache__" in n]


def test_the_readme_runs_in_an_empty_environment(environment, tmp_path):
    (tmp_path / "linear.py").write_text(readme_model())
    dinoml = environment / "bin" / "dinoml"
    call(dinoml, "compile", "linear.py", "--out", "x.dinoml", cwd=tmp_path)
    call(environment / "bin" / "python", "-m", "dinoml.cli", "validate", "x.dinoml", "--against", "linear.py", cwd=tmp_path)
    where = call(environment / "bin" / "python", "-c", RUN, "x.dinoml", cwd=tmp_path)
    assert str(environment) in where
    assert "(3, 6)" in where
