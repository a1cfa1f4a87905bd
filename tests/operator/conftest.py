"""These tests need nothing but pytest, and promtool where they say so."""

from __future__ import annotations

import pytest
from promtool import Promtool, Unavailable


@pytest.fixture(scope="session")
def promtool() -> Promtool:
    try:
        return Promtool()
    except Unavailable as reason:
        pytest.skip(f"no promtool: {reason}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Nobody should take a run without promtool for a whole one."""
    if any("no promtool" in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line("warning: promtool is not there: rules and queries were NOT checked.", red=True)
