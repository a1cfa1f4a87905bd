"""A feed that repeats, forgets, begins anew or comes out of a backup: nothing is lost, nothing returns."""

from __future__ import annotations

import json
import random
from typing import Any, Optional

import pytest
from e2e.feed.feed_desk import Desk, new, new_one
from e2e.feed.feed_service import Answer, Asked, spoilt
from waiting import until


def test_an_unknown_cursor_means_a_full_reading(desk: Desk) -> None:
    steady, removed, later = new(3)
    desk.keys.put(steady, removed)
    desk.settle()
    with desk.watch(steady) as watch:
        begin = len(desk.service.asked)

        def gone(asked: Asked, status: int, page: Any) -> Answer:
            if asked.cursor is not None:
                return Answer(410, b"{}")
            desk.service.fault = None
            return Answer(status, json.dumps(page).encode())

        desk.service.fault = gone
        desk.keys.forget(removed)
        desk.keys.put(later)
        desk.settle()
        assert desk.statuses(steady, removed, later) == [{200}, {401}, {200}]
        watch.never_again(removed)
        watch.also(later)
        asked = [one.cursor for one in desk.service.asked[begin:] if one.status == 200]
        assert None in asked
        desk.settle()
        assert desk.service.asked[-1].cursor is not None, "once is enough"


@pytest.mark.parametrize("head", ["then", "now"])
def test_an_old_page_again(desk: Desk, head: str) -> None:
    """The same old answer to whatever is asked, with the feed's version of then or of now."""
    steady, removed, moved, disabled = new(4)
    desk.keys.put(steady, removed, moved, disabled)
    desk.settle()
    _, old = desk.keys.page(None, 5000)
    desk.keys.remove(removed)
    desk.keys.put(moved, group="c-official")
    desk.keys.put(disabled, disabled=True)
    desk.settle()
    now = [{200}, {401}, {401}, {401}]
    assert desk.statuses(steady, removed, moved, disabled) == now
    with desk.watch(steady) as watch:
        watch.never_again(removed, moved, disabled)
        stale = desk.metric("stale_total")
        again = {**old, "version": desk.keys.version} if head == "now" else old
        desk.service.fault = lambda _asked, _status, _page: Answer(200, json.dumps(again).encode())
        desk.wait_asked(5)
        assert desk.statuses(steady, removed, moved, disabled) == now
        assert desk.metric("stale_total") >= stale + 3
        if head == "then":
            assert desk.rejected("behind") > 0
        later = new_one()
        desk.keys.put(later)
        desk.service.fault = None
        until(lambda: desk.everywhere(later) == {200}, check=desk.stack.check)
        desk.settle()
        assert desk.statuses(steady, removed, moved, disabled) == now


def test_out_of_order_and_twice(desk: Desk) -> None:
    """Each page has its changes in any order, with older ones of the same keys among them."""
    draw = random.Random(7)
    steady = new(4)
    values = new(30)
    desk.keys.put(*steady)
    desk.settle()

    def shuffle(page: Any) -> None:
        given = {change["sha256"] for change in page["changes"]}
        page["changes"] += [change for change in desk.keys.history if change["sha256"] in given]
        draw.shuffle(page["changes"])

    with desk.watch(*steady) as watch:
        desk.service.fault = spoilt(shuffle)
        desk.keys.most = 9
        state: dict[str, Optional[str]] = {}
        for _ in range(150):
            value = draw.choice(values)
            group = draw.choice([None, "a-official", "c-official", "mixed"])
            state[value] = group
            if group:
                desk.keys.put(value, group=group)
            else:
                desk.keys.remove(value)
        desk.service.fault = spoilt(shuffle)
        statuses = {None: 401, "a-official": 200, "c-official": 401, "mixed": 200}
        wanted = [{statuses[group]} for group in state.values()]
        until(lambda: desk.statuses(*state) == wanted, check=desk.stack.check)
        watch.never_again(*(value for value, group in state.items() if group is None))
        desk.service.fault = None
        desk.settle()
        assert desk.statuses(*state) == wanted


def test_another_identity(desk: Desk) -> None:
    """The service has lost its database and has another one: what it has counts, from the last page on."""
    steady, removed, later = new(3)
    desk.keys.put(steady, removed)
    desk.settle()
    with desk.watch(steady) as watch:
        desk.keys.remove(removed)
        desk.keys.put(later)
        desk.keys.begin_anew()
        desk.settle()
        assert desk.statuses(steady, removed, later) == [{200}, {401}, {200}]
        watch.never_again(removed)
        # Versions are counted from one again, and are none the worse for it.
        watch.also(later)
        watch.let_go(removed)
        desk.keys.put(removed)
        desk.settle()
        assert desk.everywhere(removed) == {200}


def test_another_identity_in_the_middle_of_a_reading(desk: Desk) -> None:
    """The service is replaced while its first pages are read, again and again."""
    steady = new(12)
    desk.keys.put(*steady)
    removed = new_one()
    desk.keys.put(removed)
    desk.settle()
    desk.keys.most = 5
    with desk.watch(*steady) as watch:
        desk.keys.remove(removed)
        for _ in range(3):
            desk.keys.begin_anew()
            desk.wait_asked(2)
        desk.settle()
        assert desk.statuses(*steady) == [{200}] * 12
        assert desk.everywhere(removed) == {401}
        watch.never_again(removed)


def test_a_reading_that_is_broken_off_at_each_page(desk: Desk) -> None:
    """Of a full reading under another identity: each second answer fails, nobody notices."""
    steady = new(25)
    desk.keys.put(*steady)
    removed = new_one()
    desk.keys.put(removed)
    desk.settle()
    with desk.watch(*steady) as watch:
        turn = iter(range(1_000_000))
        faults = [None, Answer(500, b""), None, Answer(200, b"{")]

        def fault(_asked: Asked, status: int, page: Any) -> Optional[Answer]:
            number = next(turn)
            return faults[number // 2 % 4] if number % 2 else Answer(status, json.dumps(page).encode())

        desk.keys.most = 4
        desk.keys.remove(removed)
        desk.keys.begin_anew()
        desk.service.fault = fault
        until(lambda: desk.everywhere(removed) == {401}, check=desk.stack.check)
        watch.never_again(removed)
        assert desk.statuses(*steady) == [{200}] * 25
        desk.service.fault = None
        desk.settle()


def test_counting_from_zero_under_the_same_identity(desk: Desk) -> None:
    """A service that breaks the rules: nothing that was good is lost, nothing that was removed returns."""
    steady, removed, later = new(3)
    desk.keys.put(steady, removed)
    desk.settle()
    backup = desk.keys.backup()
    desk.keys.remove(removed)
    desk.keys.put(*[steady] * 9)
    desk.settle()
    head, version = desk.keys.version, desk.metric("version")
    with desk.watch(steady) as watch:
        watch.never_again(removed)
        # It has the removed key again, and counts from one.
        desk.keys.restore(backup)
        desk.keys.begin_anew(named=desk.keys.identity)
        desk.keys.put(later)
        assert desk.keys.version < head
        desk.wait_rejected("behind", 1)
        until(lambda: desk.everywhere(later) == {200}, check=desk.stack.check)
        assert desk.statuses(steady, removed) == [{200}, {401}]
        assert desk.metric("version") == version, "the greatest there was"
        until(lambda: [line for line in desk.log() if "feed" in line and str(head) in line])
        # Past where it was it counts in full again.
        watch.let_go(removed)
        watch.also(later)
        while desk.keys.version <= head:
            desk.keys.put(later)
        desk.keys.put(removed)
        until(lambda: desk.everywhere(removed) == {200}, check=desk.stack.check)
        assert desk.statuses(steady, later) == [{200}, {200}]


def test_a_restored_backup(desk: Desk) -> None:
    """What came after the backup is not in it, and is neither lost nor undone as long as the service is behind."""
    before, removed, after, disabled = new(4)
    desk.keys.put(before, removed, disabled)
    desk.settle()
    backup = desk.keys.backup()
    desk.keys.put(after)
    desk.keys.remove(removed)
    desk.keys.put(disabled, disabled=True)
    desk.keys.put(*[before] * 9)
    desk.settle()
    head, version = desk.keys.version, desk.metric("version")
    with desk.watch(before, after) as watch:
        watch.never_again(removed, disabled)
        logged = len(desk.log())
        desk.keys.restore(backup)
        desk.wait_rejected("behind", 1)
        desk.wait_asked(15)
        assert desk.statuses(before, removed, after, disabled) == [{200}, {401}, {200}, {401}]
        assert desk.metric("version") == version, "the greatest there was"
        warnings = [line for line in desk.log()[logged:] if "[warning]" in line or "[error]" in line]
        assert 1 <= len(warnings) <= 2, f"not at each tick: {warnings}"
        # Meanwhile it goes on: what is new counts.
        later = new_one()
        desk.keys.put(later)
        until(lambda: desk.everywhere(later) == {200}, check=desk.stack.check)
        watch.also(later)
        # Under another identity, as a restored backup should have, it is believed: `after` is not in it.
        watch.let_go(after)
        desk.keys.remove(removed)
        desk.keys.put(disabled, disabled=True)
        desk.keys.begin_anew()
        desk.settle()
        assert desk.keys.version < head
        assert desk.statuses(before, removed, after, disabled, later) == [{200}, {401}, {401}, {401}, {200}]
