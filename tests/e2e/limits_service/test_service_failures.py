"""A limits service that is away or slow: requests pass, or get 503, as the document says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.limits_service.limits_desk import CALLS, Desk, Key, body, path
from e2e.support import Gateway, by_hand, run_dir
from stack import Stack
from waiting import until

LIMITS = """
domain: trilane
descriptors:
  - {key: key, rate_limit: {unit: day, requests_per_unit: 100000}}
"""
#: How long the gateway waits here. Long for a service that is well, on a busy machine.
TIMEOUT = 1.0
#: How long a slow service takes.
SLOW = 9.0
KEYS = {protocol: Key(protocol, f"fail-{protocol.lower()}") for protocol in CALLS}


@pytest.fixture(scope="module")
def desk(redis_binary: Path) -> Iterator[Desk]:
    keys = [key.written() for key in KEYS.values()]
    with Desk(run_dir("limits-failures"), LIMITS, keys, gateways=1, timeout=TIMEOUT) as running:
        yield running


@pytest.fixture
def well(desk: Desk) -> Iterator[Desk]:
    """The service is well before and after, as it is asked."""
    yield desk
    desk.service.delay = 0.0
    desk.service.stop()
    desk.service.start()

    def asked() -> bool:
        before = len(desk.service.asked)
        assert desk.call(KEYS["A"]).status_code in (200, 503)
        return len(desk.service.asked) > before

    until(asked)


def test_open_lets_requests_pass_without_the_service(well: Desk) -> None:
    well.service.stop()
    before = well.stat(0, "limits_service_open.failure_mode_allowed")
    for key in KEYS.values():
        assert well.call(key).status_code == 200
    assert well.stat(0, "limits_service_open.failure_mode_allowed") == before + len(KEYS)
    assert well.stat(0, "limits_service_open.error") >= before + len(KEYS)


def test_open_waits_no_longer_than_it_may(well: Desk) -> None:
    well.service.delay = SLOW
    began = time.monotonic()
    assert well.call(KEYS["A"]).status_code == 200
    assert TIMEOUT * 0.9 <= time.monotonic() - began < SLOW


def test_a_large_body_waits_with_its_head(well: Desk) -> None:
    """Longer than the window in which the filter holds it, and than what Envoy reads at a time."""
    well.service.delay = TIMEOUT / 2
    key, gateway = KEYS["A"], Gateway(well.stacks[0])
    sent = {**body("A"), "user": "x" * 3_000_000}
    answer = gateway.request("POST", path("A"), key.headers, json=sent)
    assert answer.status == 200, answer.text
    assert answer.seen[-1]["body_bytes"] > 3_000_000
    until(lambda: well.record(0, key)["trilane.outcome"] == "finished")


@pytest.fixture(scope="module")
def closed(desk: Desk) -> Iterator[Desk]:
    """The gateway with another document."""
    desk.stacks[0].publish(desk.document("closed"))

    def asks() -> bool:
        assert desk.call(KEYS["A"]).status_code == 200
        return desk.stat(0, "limits_service_closed.ok") > 0

    until(asks)
    yield desk


@pytest.mark.parametrize("protocol", CALLS)
@pytest.mark.parametrize("how", ["away", "slow"])
def test_closed_refuses_what_it_cannot_count(closed: Desk, well: Desk, protocol: str, how: str) -> None:
    if how == "away":
        closed.service.stop()
    else:
        closed.service.delay = SLOW
    key, gateway = KEYS[protocol], Gateway(closed.stacks[0])
    began = time.monotonic()
    answer = gateway.request("POST", path(protocol), key.headers, json=body(protocol))
    assert time.monotonic() - began < SLOW
    error = answer.json()["error"]
    assert answer.status == 503, answer.text
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["x-trilane-error"] == "server_is_overloaded"
    assert "could not count" in error["message"]
    if protocol == "A":
        assert error["code"] == "server_is_overloaded"
    elif protocol == "B":
        assert error["type"] == "api_error"
    else:
        assert error["status"] == "UNAVAILABLE"
    assert not answer.seen, "no upstream has seen it"
    until(lambda: closed.record(0, key)["trilane.outcome"] == "refused")


def test_an_envoy_that_cannot_ask_does_not_take_closed(redis_binary: Path) -> None:
    """Without the filters in its configuration nothing would be counted."""
    document = by_hand()
    document["limits_service"] = {"failure": "closed"}
    with Stack(run_dir("limits-unasked"), document=document) as stack:
        gateway = Gateway(stack)
        sent = {"path": path("A"), "headers": {"authorization": "Bearer trilane-demo-a"}, "json": body("A")}
        answer = gateway.request("POST", **sent)
        assert (answer.status, answer.headers["x-trilane-error"]) == (503, "server_is_overloaded"), (
            answer.text
        )
        assert not answer.seen
        document["limits_service"] = {"failure": "open"}
        stack.publish(document)
        until(lambda: gateway.request("POST", **sent).status == 200)
