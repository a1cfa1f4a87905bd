"""Many clients at once, on few and on many workers: what is let through is what the limit says, exactly."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from e2e.limits.limited_desk import Asked, Desk, told
from e2e.limits.limited_document import Book, Key
from e2e.raw import Http1
from e2e.support import run_dir
from e2e.vitals import unharmed

BOOK = Book()
CLIENTS = 50
WORKERS = [2, 8]

#: One set of keys for each number of workers: their counters are new in each gateway anyway.
BURST = BOOK.key("A", requests_per_minute=40)
SHARED = BOOK.group("B", requests_per_minute=40)
MEMBERS = [BOOK.key("B", SHARED) for _ in range(10)]
SLOTS = BOOK.key("A", concurrent_requests=7)
GROUP_SLOTS = BOOK.group("C", concurrent_requests=7)
SLOT_MEMBERS = [BOOK.key("C", GROUP_SLOTS, concurrent_requests=3) for _ in range(5)]
TOKENS = BOOK.key("B", input_tokens_per_minute=3000)
MONEY = BOOK.key("A", budget={"per_day": "1000"})


@pytest.fixture(scope="module", params=WORKERS)
def crowd(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """A gateway with so many workers."""
    with Desk(run_dir(f"limits-precision-{request.param}"), BOOK, concurrency=request.param) as running:
        with unharmed(running.stack):
            yield running


def all_at_once(desk: Desk, keys: list[Key], times: int, **how: Any) -> list[Asked]:
    """Each of the clients has a connection that is open already, and asks so many times on it."""
    connections = [Http1(desk.stack.base_url) for _ in range(CLIENTS)]
    for connection in connections:
        assert connection.request("GET", "/healthz").status == 200
    start = threading.Barrier(CLIENTS)

    def client(number: int) -> list[Asked]:
        made = []
        calls = [desk.call(keys[number % len(keys)], **how) for _ in range(times)]
        start.wait(30)
        for call in calls:
            began = time.monotonic()
            answer = connections[number].request(call.method, call.path, call.headers, call.body)
            made.append(Asked(call, answer, began, time.monotonic()))
            if answer.header("connection") == "close":
                # Envoy, where it answers before it has seen the end of the request.
                connections[number].sock.close()
                connections[number] = Http1(desk.stack.base_url)
        return made

    with ThreadPoolExecutor(max_workers=CLIENTS) as pool:
        try:
            return [asked for made in pool.map(client, range(CLIENTS)) for asked in made]
        finally:
            for connection in connections:
                connection.sock.close()


@pytest.mark.parametrize("keys, limit", [([BURST], 40), (MEMBERS, 40)], ids=["key", "group"])
def test_as_many_requests_as_the_limit_says(keys: list[Key], limit: int, crowd: Desk) -> None:
    crowd.reset_totals()
    made = all_at_once(crowd, keys, 6)
    statuses = Counter(asked.status for asked in made)
    assert set(statuses) == {200, 429} and statuses.total() == 6 * CLIENTS, statuses
    # Nothing had to be refused for want of a turn, and what drained meanwhile is all that there is more.
    elapsed = max(asked.ended for asked in made) - min(asked.began for asked in made)
    assert limit <= statuses[200] <= limit + int(elapsed * limit / 60), f"{statuses} in {elapsed:.2f} s"
    assert crowd.totals()["requests"] == statuses[200], "what the upstream saw"


def test_never_more_at_a_time(crowd: Desk) -> None:
    """By the upstream's own count; and every slot is used, and free again in the end."""
    crowd.reset_totals()
    made = all_at_once(crowd, [SLOTS], 20, delay_ms=15)
    statuses = Counter(asked.status for asked in made)
    assert set(statuses) == {200, 429}, statuses
    totals = crowd.totals()
    assert totals["most_at_once"] == 7, f"{statuses}: {totals}"
    assert totals["requests"] == statuses[200], f"{statuses}: {totals}"
    crowd.records(SLOTS, len(made))
    crowd.reset_totals()
    first = Counter(asked.status for asked in all_at_once(crowd, [SLOTS], 1, delay_ms=1000))
    assert first == {200: 7, 429: CLIENTS - 7}, first


def test_slots_of_keys_and_of_their_group(crowd: Desk) -> None:
    """Five keys with three slots each, in a group with seven."""
    crowd.reset_totals()
    made = all_at_once(crowd, SLOT_MEMBERS, 20, delay_ms=15)
    statuses = Counter(asked.status for asked in made)
    assert set(statuses) == {200, 429}, statuses
    assert crowd.totals()["most_at_once"] == 7, statuses
    refused = [asked.json()["error"]["message"] for asked in made if asked.status == 429]
    whose = Counter("this key's group" in message for message in refused)
    assert whose[True], "the group's slots were all taken"
    for key in SLOT_MEMBERS:
        crowd.records(key, 20 * CLIENTS // len(SLOT_MEMBERS))
    alone = all_at_once(crowd, SLOT_MEMBERS[:1], 1, delay_ms=1000)
    assert Counter(asked.status for asked in alone) == {200: 3, 429: CLIENTS - 3}, "one key has its own three of the seven"
    for asked in alone:
        assert asked.status == 200 or "this key's group" not in asked.json()["error"]["message"], asked.json()
    for count, key in enumerate(SLOT_MEMBERS):
        assert crowd.ask(key).status == 200, f"key {count}: slots are lost"


def test_tokens_are_admitted_on_their_estimate(crowd: Desk) -> None:
    """Bodies of 400 bytes are 100 tokens: thirty of them fit, while none is answered."""
    body = b'{"model":"claude-opus-4-5","max_tokens":1,"messages":[]}'.ljust(400)
    made = all_at_once(crowd, [TOKENS], 1, body=body, delay_ms=1500, usage="input=100,output=1")
    statuses = Counter(asked.status for asked in made)
    elapsed = max(asked.ended for asked in made) - min(asked.began for asked in made)
    assert 30 <= statuses[200] <= 30 + int(elapsed * 3000 / 60 / 100), f"{statuses} in {elapsed:.2f} s"
    crowd.records(TOKENS, CLIENTS)
    left = told(crowd.list(TOKENS))["input-tokens"].remaining
    elapsed = time.monotonic() - min(asked.began for asked in made)
    assert left <= 3000 - 100 * statuses[200] + 50 * elapsed + 1, "what was used is what was estimated"


def test_no_charge_is_lost(crowd: Desk) -> None:
    """Whoever changes the sum at the same time: what is spent is what was charged."""
    made = all_at_once(crowd, [MONEY], 6, usage="random")
    assert {asked.status for asked in made} == {200}
    records = crowd.records(MONEY, len(made))
    charges = [Decimal(record["trilane.charge"]) for record in records]
    assert sum(charges) > 0
    for window in ("day", "month"):
        last = max(Decimal(record[f"trilane.spent.key.{window}"]) for record in records)
        assert last == sum(charges), window
    # Each sum was there once: no two requests have read the same one and added to it.
    sums = [record["trilane.spent.key.day"] for record in records]
    assert len(set(sums)) == len(sums)
