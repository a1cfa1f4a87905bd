"""Before a feed was read in full nobody is told that a key is wrong: it may be in the part that is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.feed.feed_desk import Desk, new
from e2e.feed.feed_service import Answer
from e2e.loading.variants import CALLS, client, error_type
from e2e.support import bearer, goog, run_dir, x_api_key
from waiting import until

ERRORS = {"A": "server_error", "B": "api_error", "C": "UNAVAILABLE"}
HEADERS = {"A": bearer, "B": x_api_key, "C": goog}
GROUPS = {"A": "a-official", "B": "b-official", "C": "c-official"}


@pytest.fixture(scope="module")
def fresh() -> Iterator[Desk]:
    """A gateway whose feed was down when it started."""
    desk = Desk(run_dir("feed-start"), ready=False)
    desk.service.down()
    with desk:
        yield desk


def call(desk: Desk, protocol: str, value: str) -> Any:
    request = CALLS[protocol]
    return client(desk.stack).request("POST", request.path, HEADERS[protocol](value), json=request.json)


def health(desk: Desk) -> Any:
    return client(desk.stack).request("GET", "/healthz")


def test_from_nothing_to_the_first_full_reading(fresh: Desk) -> None:
    """One story, in the order in which it happens."""
    desk = fresh
    keys = {protocol: new(2) for protocol in CALLS}
    for protocol, (first, second) in keys.items():
        desk.keys.put(first, group=GROUPS[protocol])
    for protocol, (first, second) in keys.items():
        desk.keys.put(second, group=GROUPS[protocol])
    # The service is down. The document's own keys need no feed.
    desk.wait_rejected("unreachable", 3)
    for protocol, request in CALLS.items():
        assert request.send(client(desk.stack)).status == 200, f"{protocol}, the document's own key"
        for value in (*keys[protocol], *new()):
            undecided(call(desk, protocol, value), protocol)
    until(lambda: [line for line in desk.log() if "feed" in line and "[error]" in line])
    assert health(desk).status == 503
    assert "retry-after" in health(desk).headers

    # It comes, and goes again after a page.
    served = iter([True])
    desk.service.keys.most = 3
    desk.service.fault = lambda _asked, status, page: Answer(status, json.dumps(page).encode()) if next(served, False) else None
    desk.service.up()
    until(lambda: desk.everywhere(keys["A"][0]) == {200}, check=desk.stack.check)
    desk.wait_rejected("unreachable", 2)
    for protocol, (first, second) in keys.items():
        assert call(desk, protocol, first).status == 200, f"{protocol}: what has come is good"
        undecided(call(desk, protocol, second), protocol)
    assert health(desk).status == 503, "half a feed"
    assert desk.metric("version") == 6

    # It is well: the rest comes, and what is unknown now is wrong.
    desk.service.fault = None
    desk.settle()
    assert desk.service.asked[-1].cursor is not None
    assert [one.cursor for one in desk.service.asked if one.status == 200].count(None) == 1, "it went on where it was"
    for protocol, values in keys.items():
        for value in values:
            assert call(desk, protocol, value).status == 200, protocol
        assert call(desk, protocol, new()[0]).status == 401, protocol
    assert health(desk).status == 200
    assert desk.metric("keys") == 6

    # Down again: nothing is undecided any more.
    with desk.watch(*keys["A"]):
        desk.service.down()
        desk.wait_rejected("unreachable", 3)
        assert health(desk).status == 200
        for protocol, values in keys.items():
            assert call(desk, protocol, values[1]).status == 200, protocol
            assert call(desk, protocol, new()[0]).status == 401, protocol


def undecided(answer: Any, protocol: str) -> None:
    assert answer.status == 503, answer.text
    assert error_type(protocol, answer.json()) == ERRORS[protocol]
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.headers["x-trilane-error"] == "server_is_overloaded"
    assert answer.seen == []


def test_a_feed_without_keys_is_read_in_full_too() -> None:
    with Desk(run_dir("feed-empty")) as desk:
        # `start` has waited for /healthz.
        assert desk.everywhere(new()[0]) == {401}
        assert desk.metric("keys") == 0
