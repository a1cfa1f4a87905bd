"""The soak's books notice what must not be: each case spoils one side of an exchange that balances."""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path("tests/soak").resolve()))

from soaking.books import Books, Tally
from soaking.documents import KINDS, charge
from soaking.draw import drawn
from soaking.metrics import unequal
from soaking.seen import Seen
from soaking.shapes import Plan
from soaking.sources import Entry

ISSUED = {**dict.fromkeys(KINDS, 0), "input": 210, "cache_read": 1024, "output": 24, "reasoning": 32}
CHARGE = charge(0, "a-plain", "A", "gpt-5.1", ISSUED)
LINE: dict[str, Any] = {
    "request_id": "u-1",
    "http.response.status_code": 200,
    "upstream": "127.0.0.1:9101",
    "http.request.method": "POST",
    "url.path": "/v1/chat/completions",
    "trilane.outcome": "finished",
    "trilane.usage.status": "complete",
    "trilane.endpoint": "chat_completions",
    "trilane.protocol": "A",
    "trilane.key.id": "key-a-plain",
    "trilane.group": "a-plain",
    "trilane.source": "a-plain",
    "trilane.entry": "responses",
    "trilane.multiplier": "1.0000",
    "trilane.model": "gpt-5.1",
    "trilane.stream": True,
    "trilane.upstream_request_id": "sim-7",
    "gen_ai.usage.input_tokens": 1234,
    "gen_ai.usage.output_tokens": 56,
    "gen_ai.usage.cache_read.input_tokens": 1024,
    "gen_ai.usage.reasoning.output_tokens": 32,
    "trilane.charge": f"{CHARGE.normalize():f}" if CHARGE else "",
    "trilane.currency": "USD",
    "http.request.body.size": 2,
    "http.response.body.size": 900,
}


class Case:
    """One exchange from all sides, to be spoiled."""

    def __init__(self) -> None:
        self.plan = Plan(
            "1-c0-1",
            "finished",
            "POST",
            "/v1/chat/completions",
            [],
            b"{}",
            group="a-plain",
            protocol="A",
            endpoint="chat_completions",
            model="gpt-5.1",
            form="chat",
            stream=True,
            events=True,
            told=True,
            inflated=2,
        )
        now = time.time()
        self.seen = Seen(200, "u-1", complete=True, size=900, began=now, ended=now)
        self.entries = [Entry(7, "1-c0-1", "u-1", "answered", 200, dict(ISSUED), False)]
        self.lines = [copy.deepcopy(LINE)]
        self.raw: list[bytes] = []
        self.versions = [(now - 1, 0)]

    def books(self) -> Books:
        """All of it entered, and closed."""
        books = Books(self.versions)
        books.open(self.plan)
        for entry in self.entries:
            books.upstream(entry)
        books.client(self.plan, self.seen)
        for line in [json.dumps(line).encode() for line in self.lines] + self.raw:
            books.record(line)
        books.close()
        return books


def put(**members: Any) -> Callable[[Case], None]:
    """Other values in the record; names have `__` for dots."""
    return lambda case: case.lines[0].update({name.replace("__", "."): value for name, value in members.items()})


def drop(name: str) -> Callable[[Case], None]:
    return lambda case: case.lines[0].pop(name)


def cut(case: Case) -> None:
    """The same exchange, broken off by the source: the record is a lower bound."""
    case.plan.ending = "source cuts in answer"
    case.seen.complete = False
    case.lines[0].update({"trilane.outcome": "upstream_reset", "trilane.usage.status": "partial"})


def cut_with_more(case: Case) -> None:
    cut(case)
    case.entries[0].issued = {**ISSUED, "input": 209}


SPOILED: dict[str, Callable[[Case], Any]] = {
    "no record": lambda case: case.lines.clear(),
    "two records": lambda case: case.lines.append(copy.deepcopy(LINE)),
    "a record of nothing": lambda case: case.lines.append({**LINE, "request_id": "u-2"}),
    "a line that is no JSON": lambda case: case.raw.append(b'{"request_id":"u-3","flags":'),
    "an upstream request too many": lambda case: case.entries.append(copy.copy(case.entries[0])),
    "no upstream request": lambda case: case.entries.clear(),
    "one input token more": put(gen_ai__usage__input_tokens=1235),
    "one output token less": put(gen_ai__usage__output_tokens=55),
    "cached input told as other input": drop("gen_ai.usage.cache_read.input_tokens"),
    "no usage": lambda case: [case.lines[0].pop(name) for name in LINE if "usage." in name and "status" not in name],
    "partial, though all of it came": put(trilane__usage__status="partial"),
    "another outcome": put(trilane__outcome="truncated"),
    "the last digit of the charge": put(trilane__charge=str(Decimal(LINE["trilane.charge"]) + Decimal("1e-16"))),
    "a charge in another notation": put(trilane__charge=LINE["trilane.charge"] + "0"),
    "no charge": drop("trilane.charge"),
    "the multiplier of another document": put(trilane__multiplier="1.0001"),
    "a multiplier of no document": put(trilane__multiplier="1.0009"),
    "another key": put(**{"trilane__key__id": "key-a-asks"}),
    "another model": put(trilane__model="gpt-5.4-nano"),
    "another upstream request": put(trilane__upstream_request_id="sim-8"),
    "another status": put(**{"http__response__status_code": 502}),
    "another size": put(**{"http__response__body__size": 899}),
    "more than was issued, of a cut answer": cut_with_more,
    "a client that took half for whole": lambda case: [cut(case), setattr(case.seen, "complete", True)],
    "a client without an answer": lambda case: setattr(case.seen, "trouble", "hangs"),
}


def test_an_exchange_balances() -> None:
    assert Case().books().differences == []


def test_a_cut_exchange_balances() -> None:
    case = Case()
    cut(case)
    assert case.books().differences == []


@pytest.mark.parametrize("name", SPOILED)
def test_noticed(name: str) -> None:
    case = Case()
    SPOILED[name](case)
    assert case.books().found, name


def test_a_metric_that_differs_is_noticed() -> None:
    tally, other = Tally(), Tally()
    tally.add(LINE)
    other.add(LINE)
    assert unequal(tally.metrics, other.metrics) == []
    other.metrics["charge_nanos_total"]["a-plain", "responses", "gpt-5.1"] += 1
    assert len(unequal(tally.metrics, other.metrics)) == 1


def test_draws_as_the_simulator_does() -> None:
    """The simulator answered these two markers so."""
    assert [drawn(marker)["input"] for marker in ("m2", "m3")] == [1231, 3597]
