"""A feed that fails: what is known stays in force, and is caught up with once the feed is well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from demo import DEMO_KEYS
from e2e.feed.feed_desk import Desk, new
from e2e.feed.feed_keys import digest
from e2e.feed.feed_service import Fault, body, cut, hang_up, spoilt, status
from e2e.loading.variants import CALLS, client, generation
from waiting import until


def change(**fields: Any) -> Callable[[Any], None]:
    """Spoils the second change of a page, or takes fields out of it (`None`)."""

    def spoil(page: Any) -> None:
        target = page["changes"][1]
        target.update(fields)
        for name in [name for name, value in fields.items() if value is None]:
            del target[name]

    return spoil


def page(**fields: Any) -> Callable[[Any], None]:
    return lambda whole: whole.update(fields)


def no_progress(asked: Any, _status: int, whole: Any) -> Any:
    """More is to come, and nothing comes."""
    return spoilt(page(more=True, changes=[], cursor=asked.cursor))(asked, 200, whole)


#: What else is wrong with a page is in `src/feed/page/tests.rs`. The fault, the reason that the metric gives, and what the log says.
FAULTS: dict[str, tuple[Fault, str, list[str]]] = {
    "500": (status(500), "unreachable", ["status 500"]),
    "a redirect is not followed": (status(302, location="/elsewhere"), "unreachable", ["status 302"]),
    "no answer": (hang_up, "unreachable", []),
    "cut off": (cut, "unreachable", []),
    "no JSON": (body(b"<html>Sign in"), "invalid", []),
    "several problems": (
        spoilt(change(sha256="abc", group="no group")),
        "invalid",
        ["changes[1].sha256", "changes[1].group"],
    ),
    "more without an end": (no_progress, "invalid", []),
}


@pytest.mark.parametrize(("fault", "reason", "said"), FAULTS.values(), ids=FAULTS)
def test_a_page_is_taken_whole_or_not_at_all(desk: Desk, fault: Fault, reason: str, said: list[str]) -> None:
    steady, removed, moved = new(3)
    first, second = new(2)
    desk.keys.put(steady, removed, moved)
    desk.settle()
    counted, logged, before = desk.rejected(reason), len(desk.log()), generation(desk.stack)
    with desk.watch(steady, removed, moved, DEMO_KEYS["key_a"]) as watch:
        desk.service.fault = fault
        # The first of these is not what is wrong with the page.
        desk.keys.put(first, second)
        desk.keys.remove(removed)
        desk.keys.put(moved, group="mixed")
        until(lambda: desk.rejected(reason) >= counted + 3, check=desk.stack.check)
        assert desk.statuses(steady, removed, moved, first, second) == [{200}, {200}, {200}, {401}, {401}]
        assert generation(desk.stack) == before
        assert client(desk.stack).request("GET", "/healthz").status == 200
        until(lambda: len(desk.log()) > logged)
        lines = desk.log()[logged:]
        assert len(lines) == 1, f"each failure is counted, and the first is logged: {lines}"
        for part in ["feed", *said]:
            assert part in lines[0], lines[0]
        for value in (steady, removed, moved, first, second):
            assert digest(value)[:16] not in lines[0], "a digest is in the log"
        watch.let_go(removed)
        desk.service.fault = None
        desk.settle()
        assert desk.statuses(steady, removed, moved, first, second) == [{200}, {401}, {200}, {200}, {200}]
        watch.never_again(removed)
        watch.also(first, second)
        desk.settle()


def test_down_and_back(desk: Desk) -> None:
    steady, removed, later = new(3)
    desk.keys.put(steady, removed)
    desk.settle()
    logged = len(desk.log())
    with desk.watch(steady) as watch:
        desk.service.down()
        desk.wait_rejected("unreachable", 3)
        desk.keys.put(later)
        desk.keys.remove(removed)
        until(lambda: desk.metric("age_ms") >= 400)
        assert desk.statuses(steady, removed, later) == [{200}, {200}, {401}]
        assert all(CALLS[protocol].send(client(desk.stack)).status == 200 for protocol in CALLS)
        desk.service.up()
        desk.settle()
        assert desk.statuses(steady, removed, later) == [{200}, {401}, {200}]
        watch.never_again(removed)
        until(lambda: desk.metric("age_ms") < 400)
        assert desk.service.asked[-1].cursor is not None, "it went on where it was"
    until(lambda: len(desk.log()) >= logged + 1)
    errors = [line for line in desk.log()[logged:] if "[error]" in line]
    assert len(errors) == 1, errors


def test_a_feed_that_stalls(desk: Desk) -> None:
    """One question at a time, given up after five seconds; its late answer is nobody's."""
    steady, later = new(2)
    desk.keys.put(steady)
    desk.settle()
    with desk.watch(steady):
        desk.service.go.clear()
        desk.wait_asked(1)
        asked = len(desk.service.asked)
        desk.keys.put(later)
        desk.wait_rejected("unreachable", 1)
        assert len(desk.service.asked) <= asked + 1, "one question at a time"
        desk.service.go.set()
        desk.settle()
        assert desk.statuses(steady, later) == [{200}, {200}]


def test_a_page_that_fails_in_the_middle_of_many(desk: Desk) -> None:
    """Every second answer fails: what came before counts, and nothing is asked for twice that was taken."""
    steady = new(3)
    values = new(40)
    desk.keys.put(*steady)
    desk.settle()
    with desk.watch(*steady):
        fail = iter(range(1_000_000))
        desk.service.fault = lambda asked, code, whole: None if next(fail) % 2 else spoilt(lambda _: None)(asked, code, whole)
        desk.keys.most = 4
        begin = len(desk.service.asked)
        desk.keys.put(*values)
        until(lambda: desk.statuses(*values) == [{200}] * 40, check=desk.stack.check)
        desk.service.fault = None
        desk.settle()
    taken = [asked.cursor for asked in desk.service.asked[begin:] if asked.status == 200]
    assert len(taken) >= 10
    pages = [cursor for cursor in taken if cursor != desk.keys.cursor(desk.keys.version)]
    assert len(pages) - len(set(pages)) <= 1, "a page that was taken is asked for again"
