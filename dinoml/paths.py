"""Where the package's data lives: operator folders and C++ sources, in a checkout and in an installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def _data(name: str) -> Path:
    """Return a data folder: beside the package in a checkout, under `dinoml/_data` in a wheel; raise FileNotFoundError naming both."""
    checkout, installed = PACKAGE.parent / name, PACKAGE / "_data" / name
    for folder in (installed, checkout):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the folder {name}/ of DinoML is missing: looked in {installed} and {checkout}; reinstall the package")


@cache
def operators_root() -> Path:
    """Return the folder that holds `<family>/<operator>/spec.yaml`."""
    return _data("operators")


@cache
def csrc_root() -> Path:
    """Return the folder of the C++ headers, kernels and runtime."""
    return _data("csrc")


def cache_root() -> Path:
    """Return the user's cache folder for DinoML."""
    from dinoml import env

    return env.CACHE_DIR.get()
