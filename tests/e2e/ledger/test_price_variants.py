"""Which of a model's prices a request is charged at, on a real Envoy, against Python's Decimal."""

from __future__ import annotations

import json
from typing import Any, Optional

import pytest
from e2e.ledger.crafted_upstream import CraftedUpstream
from e2e.ledger.ledger_calls import charge, prices_of, route_of
from e2e.ledger.ledger_desk import Desk

CHAT = {"model": "gpt-long", "messages": [{"role": "user", "content": "hi"}]}

#: Input, of it from a cache, the class of service that is reported, and the place of the prices that hold.
LENGTHS: list[tuple[int, int, Optional[str], tuple[Any, ...]]] = [
    (1, 0, None, ()),
    (272_000, 0, None, ()),
    (272_001, 0, None, ("above", 0)),
    (272_000, 271_000, None, ()),
    (272_001, 271_000, None, ("above", 0)),
    (500_000, 1, "default", ("above", 0)),
    (500_001, 500_001, "default", ("above", 1)),
    (272_000, 5, "flex", ("tiers", "flex")),
    (272_001, 5, "flex", ("tiers", "flex", "above", 0)),
    (900_000, 5, "flex", ("tiers", "flex", "above", 0)),
    (900_000, 5, "priority", ("tiers", "priority")),
]


@pytest.mark.parametrize("row", LENGTHS, ids=[f"{row[0]} {row[1]} {row[2]}" for row in LENGTHS])
def test_length_of_the_input(
    desk: Desk, crafted: CraftedUpstream, row: tuple[int, int, Optional[str], tuple[Any, ...]]
) -> None:
    total, cached, tier, place = row
    usage = {"prompt_tokens": total, "completion_tokens": 700, "prompt_tokens_details": {"cached_tokens": cached}}
    answer: dict[str, Any] = {
        "id": "1",
        "model": "gpt-long",
        "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
        "usage": usage,
    }
    if tier:
        answer["service_tier"] = tier
    name = f"length-{total}-{cached}-{tier}"
    crafted.teach(name, json.dumps(answer).encode(), "application/json")
    sent = desk.send("a-odd", "/v1/chat/completions", CHAT, headers=(("x-crafted", name),))
    assert sent.status == 200, sent
    source, multiplier = route_of("a-odd", "A")
    prices: Any = prices_of(source, "gpt-long")
    for step in place:
        prices = prices[step]
        prices = prices["prices"] if isinstance(step, int) else prices
    kinds = {"input": total - cached, "cache_read": cached, "output": 700}
    record = sent.record()
    assert record["trilane.charge"] == charge(kinds, prices, multiplier), record
    assert "trilane.uncovered" not in record, record


def test_time_of_the_request(desk: Desk, crafted: CraftedUpstream) -> None:
    answer = {"id": "1", "choices": [], "usage": {"prompt_tokens": 1001, "completion_tokens": 503}}
    crafted.teach("timed", json.dumps(answer).encode(), "application/json")
    body = {**CHAT, "model": "gpt-timed"}
    sent = desk.send("a-odd", "/v1/chat/completions", body, headers=(("x-crafted", "timed"),))
    source, multiplier = route_of("a-odd", "A")
    prices: Any = prices_of(source, "gpt-timed")
    held = prices["times"][1]["prices"]
    record = sent.record()
    assert record["trilane.charge"] == charge({"input": 1001, "output": 503}, held, multiplier), record
