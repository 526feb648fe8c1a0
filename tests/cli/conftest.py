from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dinoml.cli import main

ROOT = Path(__file__).parents[2]
README_MODEL = re.findall(r"```python\n(# linear\.py\n.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]


class Result:
    """What a command printed and returned."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def dinoml(capsys):
    """Run a command in this process."""

    def run(*arguments) -> Result:
        capsys.readouterr()
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as leave:
            code = leave.code
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def model(tmp_path_factory) -> Path:
    """The model file of the README."""
    path = tmp_path_factory.mktemp("model") / "linear.py"
    path.write_text(README_MODEL)
    return path


@pytest.fixture(scope="session")
def artifact(model) -> Path:
    """Its artifact."""
    out = model.parent / "linear.dinoml"
    assert main(["compile", str(model), "--out", str(out)]) == 0
    return out
