from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed-of-model", type=int, default=31, help="the random model of tests/fusion/test_random.py::test_one")
    parser.addoption("--kind-of-model", default="EVERYTHING", help="its kind: a name of tests/support/graphs.py")
