"""Keys come, change and go by the feed; the document beside it; the document's feed itself."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from demo import DEMO_KEYS
from e2e.feed.feed_desk import Desk, document, new, new_one
from e2e.feed.feed_keys import Keys, digest
from e2e.feed.feed_service import PATH
from waiting import until


def in_seconds(seconds: float) -> str:
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


Change = Callable[[Keys, str], None]

#: What becomes of a good key, and its status then.
CHANGES: dict[str, tuple[Change, int]] = {
    "removed": (lambda keys, value: keys.remove(value), 401),
    "disabled": (lambda keys, value: keys.put(value, disabled=True), 401),
    "expired": (lambda keys, value: keys.put(value, expires_at="2025-01-01T00:00:00Z"), 401),
    "expires in a year": (lambda keys, value: keys.put(value, expires_at=in_seconds(3e7)), 200),
    "moved to another protocol": (lambda keys, value: keys.put(value, group="c-official"), 401),
    "moved to a Mixed group": (lambda keys, value: keys.put(value, group="mixed"), 200),
    "moved to a group that nobody knows": (lambda keys, value: keys.put(value, group="nobody"), 503),
    "said again": (lambda keys, value: keys.put(value), 200),
}


@pytest.mark.parametrize(("change", "status"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_in_force_everywhere_within_two_ticks(desk: Desk, change: Change, status: int) -> None:
    value = new_one()
    assert desk.everywhere(value) == {401}
    desk.keys.put(value)
    desk.settle()
    assert desk.everywhere(value) == {200}
    change(desk.keys, value)
    desk.settle()
    assert desk.everywhere(value) == {status}
    desk.keys.put(value)
    desk.settle()
    assert desk.everywhere(value) == {200}, "good again"


def test_a_key_expires_by_itself(desk: Desk) -> None:
    value = new_one()
    desk.keys.put(value, expires_at=in_seconds(1.5))
    desk.settle()
    assert desk.everywhere(value) == {200}
    until(lambda: desk.everywhere(value) == {401}, timeout=30)


def test_what_the_group_of_a_key_may_do(desk: Desk) -> None:
    """The whole key is the feed's: its group is what the list shows."""
    value = new_one()
    for group in ("a-official", "mixed"):
        desk.keys.put(value, group=group)
        desk.settle()
        for worker in desk.workers.connections:
            status, body, _ = desk.workers.answer(worker, value)
            assert status == 200
            assert ("entry" in json.loads(body)["data"][0]) == (group == "mixed"), group


def test_many_changes_come_in_pages_within_one_tick(desk: Desk) -> None:
    values = new(60)
    desk.keys.most = 7
    desk.keys.put(*values)
    begin = len(desk.service.asked)
    desk.settle()
    assert desk.statuses(*values) == [{200}] * 60
    # The first question may have come while the keys did; the others follow at once.
    times = [asked.at for asked in desk.service.asked[begin:] if asked.status == 200][:9]
    assert times[-1] - times[0] < 0.5, "the pages came with the ticks"


def test_how_the_feed_is_asked(desk: Desk) -> None:
    named = {"cluster": "key_feed", "path": f"{PATH}?tenant=1", "authority": "keys.internal"}
    begin = len(desk.service.asked)
    desk.keys.most = 5
    desk.publish(document(named))
    desk.settle()
    asked = [one for one in desk.service.asked[begin:] if "tenant" in one.target]
    first, second = asked[0], asked[1]
    assert parse_qs(urlsplit(first.target).query) == {"tenant": ["1"], "limit": ["100"]}
    assert set(parse_qs(urlsplit(second.target).query)) == {"tenant", "limit", "cursor"}
    assert second.cursor in [desk.keys.cursor(version) for version in range(desk.keys.version + 1)]
    for one in asked:
        assert one.headers["host"] == "keys.internal"
        assert one.headers["accept"] == "application/json"


def test_metrics(desk: Desk) -> None:
    desk.settle()
    before = desk.metric("keys")
    changes = desk.metric("changes_total")
    values = new(9)
    desk.keys.put(*values)
    desk.keys.remove(values[0])
    desk.keys.put(values[1], disabled=True)
    desk.settle()
    assert desk.metric("version") == desk.keys.version
    assert desk.metric("keys") == before + 7, "the good ones"
    assert desk.metric("changes_total") == changes + 9
    until(lambda: desk.metric("age_ms") < 500)


# ---- Beside the document's own keys


def inline(value: str, **fields: Any) -> dict[str, Any]:
    return {"id": "inline", "sha256": digest(value), "group": "a-official", **fields}


def with_keys(*keys: dict[str, Any]) -> dict[str, Any]:
    whole = document()
    whole["keys"] += keys
    return whole


def test_the_document_goes_before_the_feed(desk: Desk) -> None:
    good, refused, own = DEMO_KEYS["key_a"], DEMO_KEYS["key_disabled"], new_one()
    desk.keys.put(good, disabled=True)
    desk.keys.put(refused)
    desk.keys.put(own, group="c-official")
    desk.settle()
    assert desk.statuses(good, refused, own) == [{200}, {401}, {401}]
    desk.keys.remove(good, refused)
    desk.settle()
    assert desk.statuses(good, refused) == [{200}, {401}]
    desk.publish(with_keys(inline(own)))
    assert desk.everywhere(own) == {200}, "the document's group"
    desk.publish(with_keys(inline(own, disabled=True)))
    assert desk.everywhere(own) == {401}
    desk.publish(document())
    assert desk.everywhere(own) == {401}, "the feed's again"


def test_a_key_of_a_group_that_comes_later(desk: Desk) -> None:
    early, steady = new(2)
    desk.keys.put(early, group="next-year")
    desk.keys.put(steady)
    desk.settle()
    with desk.watch(steady):
        for worker in desk.workers.connections:
            status, _, headers = desk.workers.answer(worker, early)
            assert (status, headers["retry-after"]) == (503, "1")
        whole = document()
        group = copy.deepcopy(next(group for group in whole["groups"] if group["id"] == "a-official"))
        del group["accounts"]
        whole["groups"].append({**group, "id": "next-year", "cluster": "a_official"})
        desk.publish(whole)
        assert desk.everywhere(early) == {200}
        desk.publish(document())
        assert desk.everywhere(early) == {503}


# ---- The feed that the document names


def test_a_document_without_the_feed_and_with_it_again(desk: Desk) -> None:
    kept, gone, unknown = new(3)
    desk.keys.put(kept, gone)
    desk.settle()
    with desk.watch(DEMO_KEYS["key_a"]) as watch:
        desk.publish(document({}))
        assert desk.statuses(kept, gone, unknown) == [{401}] * 3
        quiet = len(desk.service.asked)
        desk.keys.remove(gone)
        watch.never_again(gone)
        # Named again: nothing of what was known counts until it is said anew.
        desk.service.go.clear()
        desk.publish(document())
        # A worker may be at the document of before for 10 ms.
        soon = time.monotonic() + 2
        while (found := desk.statuses(kept, gone, unknown)) != [{503}] * 3:
            assert set().union(*found) <= {401, 503} and time.monotonic() < soon, found
        assert len(desk.service.asked) <= quiet + 2, "nobody asks for a feed that is not named"
        desk.service.go.set()
        desk.settle()
        assert desk.statuses(kept, gone, unknown) == [{200}, {401}, {401}]
        begin = [asked for asked in desk.service.asked[quiet:] if asked.status == 200]
        assert begin[0].cursor is None, "a full reading"


def test_another_path(desk: Desk) -> None:
    """What is known holds until the other feed has been read in full; what is unknown waits for it."""
    only_old, both, only_new, nobody = new(4)
    desk.keys.put(only_old, both)
    desk.settle()
    other = Keys()
    other.put(both, only_new)
    desk.service.paths["/other"] = other
    with desk.watch(both) as watch:
        desk.service.go.clear()
        desk.publish(document({"cluster": "key_feed", "path": "/other"}))
        assert desk.statuses(only_old, both, only_new, nobody) == [{200}, {200}, {503}, {503}]
        desk.service.go.set()
        desk.settle()
        assert desk.statuses(only_old, both, only_new, nobody) == [{401}, {200}, {200}, {401}]
        watch.never_again(only_old)
        other.remove(only_new)
        desk.settle()
        assert desk.everywhere(only_new) == {401}


def test_a_cluster_that_is_not_there(desk: Desk) -> None:
    known, unknown = new(2)
    desk.keys.put(known)
    desk.settle()
    before = len(desk.log())
    with desk.watch(known, DEMO_KEYS["key_a"]):
        failed = desk.rejected("unreachable")
        desk.publish(document({"cluster": "nowhere"}))
        until(lambda: desk.rejected("unreachable") >= failed + 3)
        assert desk.statuses(known, unknown) == [{200}, {503}]
        until(lambda: any("cluster" in line for line in desk.log()[before:]))
