"""Every operator's reference against PyTorch, on all cases whose numbers are exact."""

from __future__ import annotations

import numpy as np
import pytest
from opinions import differences, disagreement, is_exact
from torch_calls import CALLS

from dinoml import operators
from dinoml.operators.cases import cases


def left_out(name: str) -> str:
    """Return why PyTorch need not be asked about an operator; nothing for all that users can call."""
    return "not in dinoml.ops: passes make it from operators that are asked about" if operators.get(name).spec.internal else ""


def test_every_operator_is_asked_about() -> None:
    missing = [n for n in operators.names() if n not in CALLS and not left_out(n)]
    assert not missing, f"add to tests/oracle/torch_calls.py: {', '.join(missing)}"
    unknown = sorted(set(CALLS) - set(operators.names()))
    assert not unknown, f"no such operators: {', '.join(unknown)}"


@pytest.mark.parametrize("name", sorted(CALLS))
def test_reference_agrees_with_pytorch(name: str) -> None:
    asked = [c for c in cases(operators.get(name)) if is_exact(c)]
    assert asked, f"{name} has no case without narrow floats"
    found = [d for d in map(disagreement, asked) if d]
    assert not found, "\n".join(found)


def test_a_difference_is_seen() -> None:
    want = np.linspace(-3, 3, 35).reshape(5, 7)
    assert not differences((want,), (want,), exact=False)
    for wrong in (want.astype(np.float32).astype(np.float64), np.roll(want, 1), want.T, want > 0, np.where(want > 2, np.nan, want)):
        assert differences((wrong,), (want,), exact=False)
    assert differences((want, want), (want,), exact=False)
