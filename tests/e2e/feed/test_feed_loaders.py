"""Who reads the feed: filters without a singleton, and another filter that takes over from one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from demo import DEMO_KEYS
from e2e.feed.feed_desk import TICK_MS, Desk, new, new_one
from e2e.filter_discovery import discovered, put_filter
from e2e.loading.variants import filter_configuration, no_loader
from e2e.support import run_dir
from e2e.vitals import machines
from waiting import until

PLUGIN = {"source": {"cluster": "config_source", "path": "/gateway.json"}, "tick_ms": TICK_MS}


@pytest.fixture(scope="module")
def leased() -> Iterator[Desk]:
    """The filters of the workers agree on one of them that loads."""
    with Desk(run_dir("feed-leased"), no_loader, filter_configuration(PLUGIN), paced=True) as desk:
        yield desk


def test_filters_read_the_feed_where_nobody_else_does(leased: Desk) -> None:
    desk = leased
    steady, removed, moved = new(3)
    desk.keys.put(steady, removed, moved)
    desk.settle()
    with desk.watch(steady, DEMO_KEYS["key_a"]) as watch:
        many = new(600)
        desk.keys.put(*many)
        desk.keys.remove(removed)
        desk.keys.put(moved, group="c-official")
        begin = len(desk.service.asked)
        desk.settle()
        watch.never_again(removed)
        assert desk.statuses(steady, removed, moved, many[0], many[-1]) == [{200}, {401}, {401}, {200}, {200}]
        asked = desk.service.asked[begin:]
        assert {one.limit for one in asked} == {100}, "pages are small where requests wait for them"
        # One of them asks, once a tick.
        first = len(desk.service.asked)
        desk.wait_asked(10)
        ten = desk.service.asked[first : first + 10]
        each = (ten[-1].at - ten[0].at) / 9
        assert each > TICK_MS * 0.75 / 1000, f"asked every {each * 1000:.0f} ms"
        desk.service.down()
        desk.wait_rejected("unreachable", 3)
        later = new_one()
        desk.keys.put(later)
        desk.service.up()
        desk.settle()
        assert desk.statuses(steady, removed, later) == [{200}, {401}, {200}]


# ---- The filter is swapped while it runs (an operator's update): the VM that held the lease goes


def test_a_filter_that_takes_over_goes_on_from_the_cursor() -> None:
    directory = run_dir("feed-swapped")
    file = directory.resolve() / "filters" / "trilane.json"
    desk = Desk(directory, no_loader, discovered(file), paced=True)
    put_filter(file, desk.stack._wasm, 1, PLUGIN)
    with desk:
        steady, removed = new(2)
        desk.keys.put(steady, removed)
        desk.settle()
        desk.keys.remove(removed)
        desk.settle()
        with desk.watch(steady) as watch:
            watch.never_again(removed)
            for number in (2, 3):
                made = machines(desk.stack)["wasm.envoy.wasm.runtime.v8.created"]
                begin = len(desk.service.asked)
                put_filter(file, desk.stack._wasm, number, PLUGIN)
                until(lambda: machines(desk.stack)["wasm.envoy.wasm.runtime.v8.created"] > made, check=desk.stack.check)
                # The lease of the one that went must run out first.
                later, gone = new(2)
                desk.keys.put(later, gone)
                desk.settle()
                desk.keys.remove(gone)
                desk.settle()
                assert desk.statuses(steady, removed, later, gone) == [{200}, {401}, {200}, {401}]
                watch.never_again(gone)
                assert None not in [asked.cursor for asked in desk.service.asked[begin:]], "a full reading was not needed"
