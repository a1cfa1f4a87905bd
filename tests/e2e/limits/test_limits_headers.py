"""What is left stands on every answer of protocols A and B, and what the upstream says of our own limits on none."""

from __future__ import annotations

import datetime
import re
import time
from decimal import Decimal
from typing import Any

import pytest
from e2e.limits.limited_desk import FAMILIES, TOLD, Asked, Desk, fits, judge_refusal, left, told
from e2e.limits.limited_document import MODELS, Book, Key

BOOK = Book()
REQUESTS = 1200
TOKENS = {"input_tokens_per_minute": 600_000, "output_tokens_per_minute": 300_000}
#: All that is told of.
ALL: dict[str, Any] = {"requests_per_minute": REQUESTS, **TOKENS}

#: What the simulator and the gateway are asked for, and the status.
ANSWERS: dict[str, tuple[dict[str, Any], int]] = {
    "json": ({}, 200),
    "stream": ({"stream": True}, 200),
    "http/2": ({"wire": "h2"}, 200),
    "list": ({"method": "GET", "path": "/v1/models"}, 200),
    "one model": ({"method": "GET", "path": "/v1/models/{model}"}, 200),
    "no such model": ({"method": "GET", "path": "/v1/models/nothing"}, 404),
    "a model that is not in the list": ({"body": {"model": "nothing", "max_tokens": 1, "messages": []}}, 404),
    "broken JSON": ({"body": b'{"model": '}, 400),
    "no model": ({"body": {"messages": []}}, 400),
    "bad request upstream": ({"status": 400}, 400),
    "limited upstream": ({"status": 429, "retry_after": "7"}, 429),
    "failing upstream": ({"status": 500}, 500),
    "overloaded upstream": ({"status": 503}, 503),
    "upstream that does not know us": ({"status": 401}, 502),
    "upstream that breaks off": ({"cut": "head"}, 502),
}
KEYS = {protocol: BOOK.key(protocol, **ALL) for protocol in "ABC"}
UNLIMITED = {protocol: BOOK.key(protocol) for protocol in "ABC"}
MOVING = {protocol: BOOK.key(protocol, **ALL) for protocol in "AB"}
ONLY = {
    (protocol, name): BOOK.key(protocol, **limits)
    for protocol in "AB"
    for name, limits in {
        "requests": {"requests_per_minute": 50},
        "input": {"input_tokens_per_minute": 600_000},
        "output": {"output_tokens_per_minute": 600_000},
        "slots": {"concurrent_requests": 5},
        "money": {"budget": {"per_day": "10"}},
    }.items()
}
BUDGETS = {protocol: BOOK.key(protocol, budget={"per_day": "10.5", "per_month": "200"}) for protocol in "ABC"}
#: The group leaves less of the month than the key does.
SHARED = {
    protocol: BOOK.key(protocol, BOOK.group(protocol, budget={"per_month": "150.00"}), budget={"per_month": "200"})
    for protocol in "ABC"
}
SPENT = {protocol: BOOK.key(protocol, budget={"per_day": "0.00000000000000000001"}) for protocol in "ABC"}
RESETS = {protocol: BOOK.key(protocol, requests_per_minute=20) for protocol in "AB"}


def answer(desk: Desk, key: Key, name: str) -> Asked:
    how, status = ANSWERS[name]
    if how.get("method") == "GET" and key.protocol == "C":
        how = {**how, "path": how["path"].replace("/v1/", "/v1beta/")}
    if "path" in how:
        how = {**how, "path": how["path"].format(model=MODELS[key.protocol])}
    if how.get("method") != "GET" and how.get("cut") != "head":
        how = {**how, "limits": "1"}
    asked = desk.ask(key, **how)
    assert asked.status == status, f"{name}: {asked}"
    return asked


@pytest.mark.parametrize("protocol", "AB")
@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_tells_what_is_left(protocol: str, name: str, desk: Desk) -> None:
    """In our numbers, though the upstream has told its own."""
    asked = answer(desk, KEYS[protocol], name)
    gauges = told(asked)
    assert gauges.keys() == set(TOLD[protocol]), f"{name}: {asked}"
    assert gauges["requests"].limit == REQUESTS, f"{name}: {asked}"
    # One figure for both kinds of tokens is the tighter.
    assert gauges["tokens"].limit == TOKENS["output_tokens_per_minute"], f"{name}: {asked}"
    if protocol == "B":
        assert gauges["input-tokens"].limit == TOKENS["input_tokens_per_minute"], f"{name}: {asked}"
        assert gauges["output-tokens"] == gauges["tokens"], f"{name}: {asked}"
    for gauge in gauges.values():
        assert 0 <= gauge.remaining <= gauge.limit, f"{name}: {asked}"


#: Where the path names the model, there is nothing of it to miss in the body.
_BY_PATH = ("a model that is not in the list", "broken JSON", "no model")
#: Keys that are told nothing: of no limits, or of protocol C.
SILENT = [
    (name, key)
    for name in ANSWERS
    for key in [*UNLIMITED.values(), KEYS["C"]]
    if key.protocol != "C" or name not in _BY_PATH
]


@pytest.mark.parametrize("name, key", SILENT, ids=lambda part: part if isinstance(part, str) else part.protocol)
def test_nothing_else_speaks_of_limits(name: str, key: Key, desk: Desk) -> None:
    """Keys without limits, and protocol C, are told nothing; the upstream's own numbers are nobody's business."""
    asked = answer(desk, key, name)
    assert not [field for field, _ in asked.answer.headers if field.startswith(FAMILIES)], f"{name}: {asked}"
    if name == "limited upstream":
        # How long to wait is for the client.
        assert asked.header("retry-after") == "7", asked


def test_the_simulator_does_send_them(desk: Desk) -> None:
    """So that there was something to take out, of every family."""
    found = set()
    with_httpx = {"x-sim-limits": "1", "anthropic-version": "2023-06-01"}
    for path, model in (("/v1/chat/completions", MODELS["A"]), ("/v1/messages", MODELS["B"])):
        body = {"model": model, "max_tokens": 1, "messages": []}
        reply = desk.simulator.http.post(path, headers=with_httpx, json=body)
        found |= {family for family in FAMILIES for name in reply.headers if name.startswith(family)}
    assert found == set(FAMILIES)


@pytest.mark.parametrize("protocol", "AB")
def test_they_move(protocol: str, desk: Desk) -> None:
    """Down with each request, and not with what is refused or only asked about; up as time goes by."""
    key = MOVING[protocol]
    began = time.monotonic()
    for count in range(1, 6):
        asked = desk.ask(key, usage="input=1000,output=2000")
        assert asked.status == 200, asked
        assert fits(told(asked)["requests"], count, began), f"{count}: {asked}"
        # What is being answered is not known yet: the estimate stands.
        assert fits(told(asked)["tokens"], 2000 * (count - 1) + 1000, began), f"{count}: {asked}"
        desk.records(key, count)
        for free in (desk.list(key), desk.ask(key, body=b"{")):
            assert fits(told(free)["requests"], count, began), f"{count}: {free}"
            assert fits(told(free)["tokens"], 2000 * count, began), f"{count}: {free}"
            if protocol == "B":
                assert fits(told(free)["input-tokens"], 1000 * count, began), f"{count}: {free}"
    time.sleep(max(0.0, began + 0.5 - time.monotonic()))
    assert told(desk.list(key))["requests"].remaining == REQUESTS, "20 a second are forgotten"


@pytest.mark.parametrize("protocol", "AB")
@pytest.mark.parametrize("name", ["requests", "input", "output", "slots", "money"])
def test_only_what_is_limited_is_told(protocol: str, name: str, desk: Desk) -> None:
    expected = {
        "requests": {"requests"},
        "input": {"tokens", "input-tokens"},
        "output": {"tokens", "output-tokens"},
    }.get(name, set())
    asked = desk.ask(ONLY[protocol, name])
    assert asked.status == 200, asked
    assert told(asked).keys() == expected & set(TOLD[protocol]), asked


@pytest.mark.parametrize("protocol", "ABC")
def test_what_is_left_of_budgets_is_told(protocol: str, desk: Desk) -> None:
    """To the last digit, in every protocol and on every answer, and what the upstream says of it on none."""
    key = BUDGETS[protocol]
    charged = Decimal(0)
    names = [name for name in ANSWERS if protocol != "C" or name not in _BY_PATH]
    count = 0
    for name in names:
        asked = answer(desk, key, name)
        told_left = left(asked)
        wanted = {"day": Decimal("10.5"), "month": Decimal(200)}
        # Of this very request nobody knows the charge when its head goes.
        assert told_left == {window: (budget, budget - charged) for window, budget in wanted.items()}, f"{name}: {asked}"
        if ANSWERS[name][0].get("method") != "GET":
            count += 1
            record = desk.records(key, count)[-1]
            charged += Decimal(record.get("trilane.charge", "0"))
    assert charged > 0


@pytest.mark.parametrize("protocol", "ABC")
def test_a_budget_that_others_use_as_well_is_not_told(protocol: str, desk: Desk) -> None:
    """The group's is the tighter one, and what is left of it is what others have left."""
    asked = desk.ask(SHARED[protocol], limits="1")
    assert asked.status == 200, asked
    assert left(asked) == {"month": (Decimal(200), Decimal(200))}, asked


@pytest.mark.parametrize("protocol", "ABC")
def test_a_refusal_tells_that_nothing_is_left(protocol: str, desk: Desk) -> None:
    key = SPENT[protocol]
    assert desk.ask(key, usage="input=10,output=10").status == 200
    desk.records(key)
    asked = desk.ask(key)
    judge_refusal(asked, scope="key", budget="day")
    assert left(asked) == {"day": (Decimal("0.00000000000000000001"), Decimal(0))}, asked


@pytest.mark.parametrize("protocol", "AB")
def test_when_all_is_free_again(protocol: str, desk: Desk) -> None:
    """Twenty a minute: each takes three seconds to be forgotten."""
    key = RESETS[protocol]
    asked = [desk.ask(key) for _ in range(4)][-1]
    reset, spent = told(asked)["requests"].reset, asked.ended - asked.began
    if protocol == "A":
        found = re.fullmatch(r"(?:(\d+)s|(\d+\.\d+)s)", reset)
        assert found, asked
        left = float(reset.removesuffix("s"))
    else:
        moment = datetime.datetime.strptime(reset, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
        left = (moment - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    assert 9 - spent - 1 <= left <= 13, f"{left} s: {asked}"
