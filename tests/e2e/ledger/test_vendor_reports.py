"""What vendors report, each by its page: the numbers in the ledger's line, and the charge that Python's Decimal comes to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest
from e2e.ledger.crafted_upstream import CraftedUpstream
from e2e.ledger.ledger_calls import charge, kinds_of, prices_of, route_of
from e2e.ledger.ledger_desk import Desk

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "vendors" / "reports.json"
CASES: list[dict[str, Any]] = json.loads(FIXTURES.read_text())

MESSAGES = [{"role": "user", "content": "hi"}]
CHAT: dict[str, Any] = {"model": "gpt-5.1", "messages": MESSAGES}
#: The group, the path, the model and the body of a request.
CALLS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "chat": ("a-odd", "/v1/chat/completions", "gpt-5.1", CHAT),
    "chat capped": ("a-odd", "/v1/chat/completions", "gpt-5.1", {**CHAT, "max_tokens": 25, "n": 2}),
    "chat stream": ("a-odd", "/v1/chat/completions", "gpt-5.1", {**CHAT, "stream": True}),
    "responses": ("a-odd", "/v1/responses", "gpt-5.1", {"model": "gpt-5.1", "input": "hi", "stream": True}),
    "images": ("a-odd", "/v1/images/generations", "gpt-image-1", {"model": "gpt-image-1", "prompt": "hi"}),
    "messages": (
        "b-odd",
        "/v1/messages",
        "claude-opus-4-5",
        {"model": "claude-opus-4-5", "max_tokens": 100, "stream": True, "messages": MESSAGES},
    ),
    "generate": (
        "c-odd",
        "/v1beta/models/gemini-2.5-flash:generateContent",
        "gemini-2.5-flash",
        {"contents": [{"parts": [{"text": "hi"}]}], "tools": [{"googleSearch": {}}]},
    ),
}


def _bytes(answer: Any) -> tuple[bytes, str]:
    """An answer as it is sent, and its type: a list is a stream of events."""
    if not isinstance(answer, list):
        return json.dumps(answer).encode(), "application/json"
    events = [event if isinstance(event, str) else json.dumps(event) for event in answer]
    return "".join(f"data: {event}\n\n" for event in events).encode(), "text/event-stream"


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_vendor_reports(desk: Desk, crafted: CraftedUpstream, case: dict[str, Any]) -> None:
    assert "." in case["page"] and "/" in case["page"], "each row names its page"
    group, path, model, body = CALLS[case["call"]]
    name = f"vendor-{case['name'].replace(' ', '-')}"
    crafted.teach(name, *_bytes(case["answer"]))
    sent = desk.send(group, path, body, headers=(("x-crafted", name),))
    assert sent.status == 200, sent
    record = sent.record()
    kinds: Optional[dict[str, int]] = case["kinds"]
    if kinds is None:
        assert record["trilane.usage.status"] == "failed", record
        assert "trilane.charge" not in record and "gen_ai.usage.input_tokens" not in record, record
        return
    assert record["trilane.usage.status"] == "complete", record
    found = {kind: number for kind, number in (kinds_of(record) or {}).items() if number}
    assert found == kinds, record
    source, multiplier = route_of(group, {"a": "A", "b": "B", "c": "C"}[group[0]])
    prices = prices_of(source, model)
    assert prices and record["trilane.charge"] == charge(kinds, prices, multiplier), record
    assert record.get("trilane.usage.doubt") == case.get("doubt"), record
    assert record.get("trilane.usage.reported_cost") == case.get("reported_cost"), record
    assert record.get("trilane.usage.calls.web_search") == case.get("searches"), record
