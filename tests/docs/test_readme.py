"""The README is true: its commands run as written, its operator table is what the specs say, and its links exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dinoml.build.toolchain import find_toolchain
from dinoml.operators import support
from dinoml.paths import csrc_root

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def commands(text: str) -> list[str]:
    """Return the shell commands of a block, comments removed, continued lines joined."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line.split("  #")[0].strip() for line in lines if line.strip() and not line.startswith("#")]


def test_every_command_and_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ran = 0
    for language, text in BLOCKS:
        first = text.splitlines()[0]
        if language == "python" and first.startswith("# ") and first.endswith(".py"):
            (tmp_path / first[2:]).write_text(text)
        elif language == "python":
            exec(compile(text, "README.md", "exec"), {"input_array": np.ones((3, 8), np.float32)})
            ran += 1
        elif language == "cpp":
            (tmp_path / "run.cpp").write_text(text)
            build = [*find_toolchain().command, "-std=c++17", f"-I{csrc_root() / 'include'}", "run.cpp", "-ldl", "-o", "run"]
            subprocess.run(build, check=True)
            assert float(subprocess.run(["./run"], capture_output=True, text=True, check=True).stdout) != 0
            ran += 1
        elif language == "bash" and "nox" not in text:
            for command in commands(text):
                words = shlex.split(command)
                if words[:1] == ["dinoml"]:
                    words = [sys.executable, "-m", "dinoml.cli", *words[1:]]
                elif words[:1] in (["python"], ["python3"]):
                    words = [sys.executable, *words[1:]]
                result = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
                assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
                ran += 1
    assert ran >= 9


def test_the_operator_table_is_up_to_date() -> None:
    assert support.replaced(README) == README, "run: python -m dinoml.operators.support --write README.md"


def test_links_to_files_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
