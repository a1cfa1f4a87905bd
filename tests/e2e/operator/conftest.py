"""What these tests share with tests/operator: promtool, and the lists of metrics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.operator.metered import document, odd_upstream
from e2e.support import Gateway, run_dir
from promtool import Promtool, Unavailable
from stack import Stack


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
