"""What is left stands on every answer of protocols A and B, and what the upstream says of its own limits on none.

Which numbers, and to the last digit, is in `tests/golden/cases/limits.txt`.
"""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest
from e2e.limits.limited_desk import FAMILIES, TOLD, Desk, fits, left, told
from e2e.limits.limited_document import MODELS, Book

BOOK = Book()
REQUESTS = 1200
#: All that is told of.
ALL: dict[str, Any] = {
    "requests_per_minute": REQUESTS,
    "input_tokens_per_minute": 600_000,
    "output_tokens_per_minute": 300_000,
    "budget": {"per_day": "10.5"},
}

#: What the simulator and the gateway are asked for, and the status.
ANSWERS: dict[str, tuple[dict[str, Any], int]] = {
    "json": ({}, 200),
    "stream over http/2": ({"stream": True, "wire": "h2"}, 200),
    "list": ({"method": "GET", "path": "/v1/models"}, 200),
    "broken JSON": ({"body": b'{"model": '}, 400),
    "limited upstream": ({"status": 429, "retry_after": "7"}, 429),
    "failing upstream": ({"status": 500}, 500),
    "upstream that does not know us": ({"status": 401}, 502),
    "upstream that breaks off": ({"cut": "head"}, 502),
}
KEYS = {protocol: BOOK.key(protocol, **ALL) for protocol in "AB"}
#: Keys that are told nothing of rates: of no limits, or of protocol C.
SILENT = [BOOK.key("A"), BOOK.key("C", requests_per_minute=REQUESTS)]
MOVING = {protocol: BOOK.key(protocol, **ALL) for protocol in "AB"}


@pytest.mark.parametrize("protocol", "AB")
@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_tells_what_is_left(protocol: str, name: str, desk: Desk) -> None:
    """In our numbers, though the upstream has told its own."""
    how, status = ANSWERS[name]
    asked = desk.ask(KEYS[protocol], **how, **({"limits": "1"} if how.get("cut") != "head" else {}))
    assert asked.status == status, asked
    gauges = told(asked)
    assert gauges.keys() == set(TOLD[protocol]) and gauges["requests"].limit == REQUESTS, asked
    assert all(0 <= gauge.remaining <= gauge.limit for gauge in gauges.values()), asked
    assert left(asked)["day"][0] == Decimal("10.5"), asked
    if name == "limited upstream":
        # How long to wait is for the client.
        assert asked.header("retry-after") == "7", asked


@pytest.mark.parametrize("key", SILENT, ids=["no limits", "protocol C"])
def test_nothing_else_speaks_of_limits(key: Any, desk: Desk) -> None:
    for how in ({}, {"stream": True}, {"status": 429, "retry_after": "7"}):
        asked = desk.ask(key, **how, limits="1")
        assert not [field for field, _ in asked.answer.headers if field.startswith(FAMILIES)], asked


def test_the_simulator_does_send_them(desk: Desk) -> None:
    """So that there was something to take out, of every family."""
    found = set()
    headers = {"x-sim-limits": "1", "anthropic-version": "2023-06-01"}
    for path, model in (("/v1/chat/completions", MODELS["A"]), ("/v1/messages", MODELS["B"])):
        reply = desk.simulator.http.post(path, headers=headers, json={"model": model, "max_tokens": 1, "messages": []})
        found |= {family for family in FAMILIES for name in reply.headers if name.startswith(family)}
    assert found == set(FAMILIES)


@pytest.mark.parametrize("protocol", "AB")
def test_they_move(protocol: str, desk: Desk) -> None:
    """Down with each request, and not with what is refused or only asked about; up as time goes by."""
    key = MOVING[protocol]
    began = time.monotonic()
    for count in range(1, 4):
        asked = desk.ask(key, usage="input=1000,output=2000")
        assert asked.status == 200, asked
        assert fits(told(asked)["requests"], count, began), f"{count}: {asked}"
        # What is being answered is not known yet: the estimate stands.
        assert fits(told(asked)["tokens"], 2000 * (count - 1) + 1000, began), f"{count}: {asked}"
        desk.records(key, count)
        for free in (desk.list(key), desk.ask(key, body=b"{")):
            assert fits(told(free)["requests"], count, began), f"{count}: {free}"
            assert fits(told(free)["tokens"], 2000 * count, began), f"{count}: {free}"
    time.sleep(max(0.0, began + 0.5 - time.monotonic()))
    assert told(desk.list(key))["requests"].remaining == REQUESTS, "20 a second are forgotten"
