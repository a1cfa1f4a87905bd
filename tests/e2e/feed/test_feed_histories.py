"""A feed that repeats, begins anew or comes out of a backup: nothing is lost, nothing returns. More histories are in `src/feed/sync/tests`."""

from __future__ import annotations

import random
from typing import Any, Optional

from e2e.feed.feed_desk import Desk, new, new_one
from e2e.feed.feed_service import spoilt
from waiting import until


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
