"""What these tests share with tests/operator: promtool, and the lists of metrics."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from metered import document, odd_upstream
from stack import Stack
from support import Gateway, run_dir

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "operator"))

from promtool import Promtool, Unavailable  # noqa: E402


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A stack of its own in place of the shared one: what others do to that one would be counted too."""
    directory = run_dir("operator")
    with odd_upstream() as port, Stack(directory, document=document(directory / "accounts", port)) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(stack: Stack) -> Gateway:
    return Gateway(stack)


@pytest.fixture(scope="session")
def promtool() -> Promtool:
    try:
        return Promtool()
    except Unavailable as reason:
        pytest.skip(f"no promtool: {reason}")
