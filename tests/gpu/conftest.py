"""Compiling for GPUs takes minutes and needs nvcc and clang: the files here are collected by `pytest -m gpu_compile` only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # slice_cases and slice_kernels, which the scripts beside them use too


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu_compile: compiles kernels for CUDA and ROCm; needs nvcc, clang and the HIP headers, no GPU")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    asked = "gpu_compile" in (config.option.markexpr or "")
    return True if collection_path.name.startswith("test_") and not asked else None
