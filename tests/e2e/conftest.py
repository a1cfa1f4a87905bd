"""How the end-to-end tests are spread over workers."""

from __future__ import annotations

from pathlib import Path

import pytest

#: Directories that take longest, first: no worker is to be left with one of them at the end.
LONGEST = ("browser", "accounts", "contract", "console", "sdk", "up", "loading", "streaming", "limits")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A module is one worker's, and so are all modules of a directory that share its gateways.

    Those come after the others of their directory, so that no worker has a module's own gateway beside them. The longest
    directories come first.
    """
    sharing = {item.path for item in items if shares_with_directory(item)}
    length = {name: number for number, name in enumerate(LONGEST)}
    place: dict[Path, int] = {}
    for item in items:
        place.setdefault(item.path.parent, len(place))

    def turn(item: pytest.Item) -> tuple[int, int, bool]:
        directory = item.path.parent
        return length.get(directory.name, len(LONGEST)), place[directory], item.path in sharing

    items.sort(key=turn)
    for item in items:
        directory = item.path.parent.name
        item.add_marker(pytest.mark.xdist_group(directory if item.path in sharing else f"{directory}/{item.path.stem}"))


def shares_with_directory(item: pytest.Item) -> bool:
    """Whether the test has a fixture that lives as long as its directory's tests."""
    fixtures = item._fixtureinfo.name2fixturedefs  # pytest tells scopes in no other way
    return any(defined[-1].scope == "package" for defined in fixtures.values())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Nobody should take a run without Redis for a whole one."""
    if any("no redis-server" in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line("warning: redis-server is not there: shared limits were NOT checked.", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """The tests import their runner by a path that begins at the root of the repository."""
    missing = [name for name in ("stack", "demo") if not Path("tests", "runner", f"{name}.py").exists()]
    if missing:
        raise pytest.UsageError("run the end-to-end tests with `make e2e`, from the root of the repository")
