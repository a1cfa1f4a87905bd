"""Which of a model's prices a request is charged at, on a real Envoy, against Python's Decimal."""

from __future__ import annotations

import json
from decimal import Decimal
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


#: Speed and place that are reported, the place of the prices that hold, and what these do not cover.
PLACES: list[tuple[Optional[str], Optional[str], tuple[str, ...], list[str]]] = [
    (None, None, (), []),
    ("standard", "global", (), []),
    (None, "not_available", (), []),
    (None, "us", ("us",), []),
    ("fast", "us", ("fast", "us"), []),
    ("fast", "eu", ("fast",), ["inference_geo"]),
    (None, "eu", (), ["inference_geo"]),
]


@pytest.mark.parametrize("row", PLACES, ids=[f"{row[0]} {row[1]}" for row in PLACES])
def test_place_and_speed(
    desk: Desk, crafted: CraftedUpstream, row: tuple[Optional[str], Optional[str], tuple[str, ...], list[str]]
) -> None:
    speed, geo, place, gaps = row
    usage: dict[str, Any] = {"input_tokens": 1001, "output_tokens": 503}
    usage |= {"speed": speed} if speed else {}
    usage |= {"inference_geo": geo} if geo else {}
    answer = {"id": "1", "type": "message", "content": [], "stop_reason": "end_turn", "usage": usage}
    name = f"place-{speed}-{geo}"
    crafted.teach(name, json.dumps(answer).encode(), "application/json")
    body = {"model": "claude-placed-1", "max_tokens": 9, "messages": []}
    sent = desk.send("b-odd", "/v1/messages", body, headers=(("x-crafted", name),))
    source, multiplier = route_of("b-odd", "B")
    prices: Any = prices_of(source, "claude-placed-1")
    for step in place:
        prices = prices["tiers"][step]
    record = sent.record()
    assert record["trilane.charge"] == charge({"input": 1001, "output": 503}, prices, multiplier), record
    assert record.get("trilane.uncovered", []) == gaps, record
    assert record.get("trilane.inference_geo") == geo, record


@pytest.mark.parametrize("searches", [0, 1, 3])
def test_searches(desk: Desk, crafted: CraftedUpstream, searches: int) -> None:
    queries = [f"query {number}" for number in range(searches)]
    candidate = {
        "content": {"parts": [{"text": "x"}]},
        "finishReason": "STOP",
        "groundingMetadata": {"webSearchQueries": queries + queries[:1]},
    }
    answer = {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 1001, "candidatesTokenCount": 503, "totalTokenCount": 1504},
    }
    name = f"searches-{searches}"
    crafted.teach(name, json.dumps(answer).encode(), "application/json")
    path = "/v1beta/models/gemini-searching:generateContent"
    sent = desk.send("c-odd", path, {"contents": []}, headers=(("x-crafted", name),))
    source, multiplier = route_of("c-odd", "C")
    prices: Any = prices_of(source, "gemini-searching")
    tokens = Decimal(charge({"input": 1001, "output": 503}, prices, Decimal(1)))
    fees = (Decimal("0.035") if searches else 0) + searches * Decimal("0.014")
    record = sent.record()
    assert Decimal(record["trilane.charge"]) == (tokens + fees) * multiplier, record
    assert "trilane.uncovered" not in record, record
