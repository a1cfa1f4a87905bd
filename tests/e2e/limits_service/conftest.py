"""The tests of the limits service need a Redis, and say so where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis_server


@pytest.fixture(scope="module")
def redis_binary() -> Path:
    try:
        return redis_server.find()
    except redis_server.Unavailable as reason:
        pytest.skip(f"no redis-server: {reason}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Nobody should take a run without Redis for a whole one."""
    if any("no redis-server" in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(
            "warning: redis-server is not there: shared limits were NOT checked.", red=True
        )
