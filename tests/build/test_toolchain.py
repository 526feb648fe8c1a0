"""Finding a compiler, and what is said when there is none."""

import pytest

from dinoml.build import ToolchainError, find_toolchain
from dinoml.build.errors import first_errors


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_without_a_compiler_the_package_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match=r"apt-get install g\+\+") as error:
        find_toolchain()
    assert "g++: not found" in str(error.value)
    assert "clang++: not found" in str(error.value)


def test_a_wrong_cxx_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler -O9")
    with pytest.raises(ToolchainError, match=r"no-such-compiler: not found \(from CXX\)"):
        find_toolchain()


def test_a_compiler_without_cxx17_is_refused(tmp_path, monkeypatch):
    refuse = 'echo "error: unrecognized -std=c++17" >&2; exit 1'
    old = script(tmp_path / "old", f'case "$1" in --version) echo "old 4.2";; -dump*) echo 4.2;; *) {refuse};; esac\n')
    monkeypatch.setenv("CXX", str(old))
    with pytest.raises(ToolchainError, match=r"does not compile C\+\+17: error: unrecognized"):
        find_toolchain()


def test_arguments_in_cxx_are_part_of_the_identity(monkeypatch):
    usual = find_toolchain()
    monkeypatch.setenv("CXX", f"{usual.command[0]} -DX=1")
    other = find_toolchain()
    assert other.command[1:] == ("-DX=1",)
    assert other.identity != usual.identity


def test_the_first_errors_are_shown_or_else_the_end():
    assert first_errors("note: x\na.cpp:1: error: one\nb\n" + "a.cpp:2: error: more\n" * 9) == ["a.cpp:1: error: one"] + ["a.cpp:2: error: more"] * 4
    assert first_errors("one\n\ntwo\n") == ["one", "two"]


def test_a_wrapper_is_told_by_its_content(tmp_path, monkeypatch):
    real = find_toolchain().command[0]
    wrappers = [script(tmp_path / name, f'exec {real} "$@" -DX={name}\n') for name in ("1", "2")]
    identities = []
    for wrapper in wrappers:
        monkeypatch.setenv("CXX", str(wrapper))
        identities.append(find_toolchain().identity)
    assert identities[0] != identities[1]
