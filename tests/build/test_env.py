"""Environment variables: one table, which the README repeats."""

import re
from pathlib import Path

import pytest

from dinoml import env

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("text", "size"), [("10", 10), ("2G", 2 << 30), ("1.5 MiB", 3 << 19), ("7kb", 7 << 10)])
def test_sizes(text, size):
    assert env.parse_bytes(text) == size


def test_a_bad_value_names_the_variable(monkeypatch):
    monkeypatch.setenv("DINOML_JOBS", "many")
    with pytest.raises(ValueError, match="DINOML_JOBS='many'"):
        env.JOBS.get()


def test_the_readme_lists_them_all():
    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert listed == {variable.name for variable in env.TABLE}


def test_no_other_module_reads_a_variable_of_its_own():
    pattern = re.compile(r'(?:environ(?:\.get\(|\[)|getenv\()\s*"(\w+)"')
    found = {(f.name, name) for f in sorted((ROOT / "dinoml").rglob("*.py")) for name in pattern.findall(f.read_text())}
    passed_on = {("toolchain.py", "PATH"), ("worker.py", "PYTHONPATH")}
    assert not found - passed_on
