"""One stack for all tests that can share it: the sample's groups of both kinds, a simulator, an Envoy with two workers."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Optional

import pytest
from e2e.both_kinds import both_kinds
from e2e.support import Gateway, by_hand, run_dir
from e2e.vitals import answers, machines, unharmed
from stack import Stack

#: Of the 128 inotify instances that Linux grants a user, how many the gateways of one worker of two may hold at a time.
INOTIFY_BUDGET = 64
#: Of these, how many the gateways of the whole session take. Which of a worker's tests start them is chance: they count
#: from the start, so that a directory is within the budget in every order or in none.
INOTIFY_OF_SESSION = 22
#: Their directories.
SESSION_STACKS = ("shared", "by-hand")
#: Directories that take minutes: no worker is to be left with one of them at the end.
LONGEST = ("accounts", "feed", "limits", "loading")


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """The sample's groups of both kinds on a real Envoy. Tests that publish another document start a stack of their own."""
    with Stack(run_dir(SESSION_STACKS[0]), document=both_kinds()) as running:
        yield running


@pytest.fixture(scope="session")
def gateway(stack: Stack) -> Gateway:
    """The shared stack as a client sees it, and its simulator as an eavesdropper does."""
    return Gateway(stack)


@pytest.fixture(scope="session")
def stack_by_hand() -> Iterator[Stack]:
    """The sample's groups of both kinds with one upstream a source, where nothing is tried twice."""
    with Stack(run_dir(SESSION_STACKS[1]), document=by_hand()) as running:
        yield running


@pytest.fixture(scope="module")
def filter_lives(stack: Stack) -> Iterator[None]:
    """For modules that send what could do harm: at their end the shared gateway is as whole as before."""
    with unharmed(stack):
        yield


@pytest.fixture
def requests_go_on(stack: Stack) -> Iterator[None]:
    """The same after each case, so that the one that did the harm is the one that fails."""
    before = machines(stack)
    yield
    answers(stack, 4)
    assert machines(stack) == before


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A directory's tests stay with one worker, since they share gateways. The long ones come first."""
    items.sort(key=lambda item: item.path.parent.name not in LONGEST)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(item.path.parent.name))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: Optional[pytest.Item]) -> Generator[None, None, None]:
    """A module whose gateways take the session beyond its budget of inotify instances fails at its end."""
    module_ends = nextitem is None or nextitem.path != item.path
    held = inotify_instances() if module_ends else {}
    yield
    kept = tuple(f"/{name}/envoy.yaml" for name in SESSION_STACKS)
    of_session = {who: count for who, count in held.items() if any(name in who for name in kept)}
    assert sum(of_session.values()) <= INOTIFY_OF_SESSION, of_session
    taken = sum(held.values()) - sum(of_session.values()) + INOTIFY_OF_SESSION
    if taken > INOTIFY_BUDGET:
        pytest.fail(
            f"With those of the whole session, {taken} inotify instances are held; {INOTIFY_BUDGET} are a worker's share of"
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
