"""Keys with models and a multiplier of their own, from the feed and from the document."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from e2e.feed.feed_desk import Desk, document, new_one
from e2e.feed.feed_keys import digest
from e2e.ledger_reader import Ledger
from e2e.loading.variants import CALLS, Call
from e2e.support import Gateway, credential

#: A key's own, and the same of another one.
OWN = {"models": ["gpt-5.1", "claude-opus-5-5"], "multiplier": "0.15", "team": "east"}
#: The prices of a million tokens in the sample: input, from a cache, into a cache for five minutes and for an hour, output.
PRICES = {
    "gpt-5.1": ("1.25", "0.125", "0", "0", "10"),
    "gpt-5.4": ("2.50", "0.25", "0", "0", "15"),
    "claude-opus-5-5": ("5", "0.5", "6.25", "10", "25"),
}


def key_id(value: str) -> str:
    return f"id_{digest(value)[:12]}"


def ask(desk: Desk, value: str, protocol: str, **more: Any) -> Any:
    call = CALLS[protocol]
    own = Call(call.path, credential(protocol, value), {**call.json, **more})
    return own.send(Gateway(desk.stack))


def refused(desk: Desk, value: str, **more: Any) -> None:
    """The model is one that the key does not have; whether its group has it, nobody is told."""
    answer = ask(desk, value, "A", **more)
    assert answer.status == 404, answer.text
    assert answer.json()["error"]["code"] == "model_not_found", answer.text


def lists(desk: Desk, value: str) -> list[set[tuple[str, Any]]]:
    """The list that a key gets, on each worker: models, and the multiplier where it says one."""
    found = []
    for worker in desk.workers.connections:
        status, body, _ = desk.workers.answer(worker, value)
        assert status == 200, body
        found.append({(model["id"], model.get("multiplier")) for model in json.loads(body)["data"]})
    return found


def charged(record: dict[str, Any]) -> Decimal:
    """What the request costs before the multiplier, by the prices above."""

    def tokens(name: str) -> int:
        return int(record.get(name, 0))

    read, written = tokens("gen_ai.usage.cache_read.input_tokens"), tokens("gen_ai.usage.cache_creation.input_tokens")
    hour = tokens("trilane.usage.cache_creation_1h.input_tokens")
    plain = tokens("gen_ai.usage.input_tokens") - read - written
    used = (plain, read, written - hour, hour, tokens("gen_ai.usage.output_tokens"))
    prices = PRICES[record["trilane.model"]]
    return sum((count * Decimal(price) for count, price in zip(used, prices)), Decimal(0)) / 1_000_000


def last(ledger: Ledger, value: str, count: int) -> dict[str, Any]:
    """The last of so many requests for a model; lines of lists may come late."""
    wanted = {"trilane.key.id": key_id(value), "trilane.outcome": "finished"}

    def found() -> list[dict[str, Any]]:
        return [line for line in ledger.records if wanted.items() <= line.items() and line.get("trilane.model")]

    return ledger.wait(found, count, f"of the key {value}")[count - 1]


def check_charge(record: dict[str, Any], multiplier: str) -> None:
    assert record["trilane.usage.status"] == "complete", record
    assert record["trilane.multiplier"] == f"{Decimal(multiplier):.4f}", record
    assert Decimal(record["trilane.charge"]) == charged(record) * Decimal(multiplier) > 0, record


def test_a_key_of_the_feed(desk: Desk) -> None:
    value, other = new_one(), new_one()
    desk.keys.put(value, models=["gpt-5.1"], multiplier="0.15", team="east")
    desk.keys.put(other)
    desk.settle()
    everything = lists(desk, other)[0]
    assert len(everything) > 3
    assert {model for model, _ in lists(desk, value)[0]} == {"gpt-5.1"}
    assert len({frozenset(each) for each in lists(desk, value)}) == 1, "on each worker the same"

    mark = Ledger(desk.stack.access_log).skip()
    assert ask(desk, value, "A").status == 200
    record = last(mark, value, 1)
    check_charge(record, "0.15")
    assert record["trilane.key.team"] == "east"
    refused(desk, value, model="gpt-5.4")
    assert ask(desk, other, "A", model="gpt-5.4").status == 200, "its group has it"

    # Other models and another multiplier are in force everywhere after two ticks, and then none of its own.
    desk.keys.put(value, models=["gpt-5.4"], multiplier="2")
    desk.settle()
    assert [{model for model, _ in each} for each in lists(desk, value)] == [{"gpt-5.4"}] * len(desk.workers.connections)
    refused(desk, value)
    mark = Ledger(desk.stack.access_log).skip()
    assert ask(desk, value, "A", model="gpt-5.4").status == 200
    check_charge(last(mark, value, 1), "2")
    desk.keys.put(value)
    desk.settle()
    assert lists(desk, value) == [everything] * len(desk.workers.connections)
    mark = Ledger(desk.stack.access_log).skip()
    assert ask(desk, value, "A").status == 200
    check_charge(last(mark, value, 1), "0.2")


@pytest.mark.parametrize("place", ["the feed", "the document"])
def test_a_key_of_a_mixed_group(desk: Desk, place: str) -> None:
    """Its multiplier is that of every source; a model of the third entry is none of its own."""
    value = new_one()
    if place == "the feed":
        desk.keys.put(value, group="mixed", **OWN)
    else:
        whole = document()
        whole["keys"].append({"id": key_id(value), "sha256": digest(value), "group": "mixed", **OWN})
        desk.publish(whole)
    desk.settle()
    want = {(model, "0.1500") for model in OWN["models"]}
    assert lists(desk, value) == [want] * len(desk.workers.connections)
    ledger = Ledger(desk.stack.access_log).skip()
    for count, protocol in enumerate("AB", 1):
        answer = ask(desk, value, protocol)
        assert answer.status == 200, answer.text
        record = last(ledger, value, count)
        check_charge(record, "0.15")
        assert (record["trilane.source"], record["trilane.key.team"]) == (f"{protocol.lower()}-official", "east")
    answer = ask(desk, value, "C")
    assert answer.status == 404, answer.text
    refused(desk, value, model="gpt-5.4")
