"""What these tests share with tests/operator: promtool, and the lists of metrics."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "operator"))

from promtool import Promtool, Unavailable  # noqa: E402


@pytest.fixture(scope="session")
def promtool() -> Promtool:
    try:
        return Promtool()
    except Unavailable as reason:
        pytest.skip(f"no promtool: {reason}")
