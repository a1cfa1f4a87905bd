"""How the end-to-end tests are spread over workers, and what their gateways may hold."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Optional

import pytest

#: Of the 128 inotify instances that Linux grants a user, how many the gateways of one worker of three may hold at a time.
INOTIFY_BUDGET = 42
#: Directories that take longest, first: no worker is to be left with one of them at the end.
LONGEST = ("browser", "accounts", "contract", "console", "sdk", "up", "loading", "streaming", "limits", "abuse")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A module is one worker's, and so are all modules of a directory that share its gateways.

    Those come after the others of their directory, or a worker could have a module's own gateway beside them, and a user's
    inotify instances do not suffice for both. The longest directories come first.
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: Optional[pytest.Item]) -> Generator[None, None, None]:
    """A module whose gateways take the worker beyond its budget of inotify instances fails at its end."""
    module_ends = nextitem is None or nextitem.path != item.path
    held = inotify_instances() if module_ends else {}
    yield
    if (taken := sum(held.values())) > INOTIFY_BUDGET:
        pytest.fail(
            f"{taken} inotify instances are held; {INOTIFY_BUDGET} are a worker's share of"
            " the user's 128. End gateways with their module or directory, or let them have fewer accounts:\n"
            + "\n".join(f"  {count} by {command}" for command, count in held.items()),
            pytrace=False,
        )


def inotify_instances() -> dict[str, int]:
    """How many inotify instances the processes below this one hold, by command line."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parents[process] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    ours = {os.getpid()}
    while more := {int(process.name) for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    held = {}
    for pid in sorted(ours):
        try:
            opened = [os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()]
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if count := opened.count("anon_inode:inotify"):
            held[f"pid {pid}: {command.strip()}"] = count
    return held


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Nobody should take a run without Redis for a whole one."""
    if any("no redis-server" in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line("warning: redis-server is not there: shared limits were NOT checked.", red=True)


def pytest_configure(config: pytest.Config) -> None:
    """The tests import their runner by a path that begins at the root of the repository."""
    missing = [name for name in ("stack", "demo") if not Path("tests", "runner", f"{name}.py").exists()]
    if missing:
        raise pytest.UsageError("run the end-to-end tests with `make e2e`, from the root of the repository")
