"""Connections with many requests, and a document that changes while one of them is being answered."""

from __future__ import annotations

import json
import threading
import time
from decimal import Decimal
from typing import Any

from e2e.ledger.crafted_upstream import CraftedUpstream
from e2e.ledger.estimates import check_estimates
from e2e.ledger.ledger_calls import (
    CALLS,
    Kinds,
    charge,
    charge_members,
    complete_members,
    kinds_of,
    prices_of,
    route_of,
    told,
    without_time,
)
from e2e.ledger.ledger_desk import Client, Desk, Post, Sent
from e2e.ledger.ledger_document import document
from e2e.raw import Answer, Http1, Http2
from e2e.support import credential_for

ASKED: Kinds = {"input": 1001, "cache_read": 203, "output": 509, "reasoning": 613}
USAGE = ",".join(f"{kind}={number}" for kind, number in ASKED.items())


def dearer() -> dict[str, Any]:
    """Every price twice as high, and every multiplier three times; the currency is another, too."""
    changed = document()
    changed["currency"] = "CHF"
    for group in changed["groups"]:
        if "multiplier" in group:
            group["multiplier"] = str(Decimal(group["multiplier"]) * 3)
        if group["protocol"] != "Mixed":
            for model in group["models"]:
                if "prices" in model:
                    model["prices"] = {
                        kind: str(Decimal(price) * 2) for kind, price in model["prices"].items() if isinstance(price, str)
                    }
    return changed


def in_force(desk: Desk, currency: str) -> None:
    """Returns when new requests are charged in this currency, on every worker."""
    deadline = time.monotonic() + 15
    right = 0
    while right < 8:
        probe = desk.send("a", "/v1/responses", CALLS["responses"].body, sim={"usage": "output=1"})
        right = right + 1 if probe.record()["trilane.currency"] == currency else 0
        assert time.monotonic() < deadline, f"prices in {currency} are not in force"


def _events(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


#: Streams that stop in the middle, when none or half of the usage is told, and go on when the prices have changed.
STREAMS = {
    "a-odd": (
        CALLS["chat, stream"],
        _events(
            {"id": "1", "model": "m", "choices": [{"delta": {"content": "half"}}]},
            {"id": "1", "choices": [], "usage": {"prompt_tokens": 1001, "completion_tokens": 509}},
        )
        + b"data: [DONE]\n\n",
        b'"half"',
    ),
    "b-odd": (
        CALLS["messages, stream"],
        _events(
            {"type": "message_start", "message": {"id": "1", "usage": {"input_tokens": 1001, "output_tokens": 1}}},
            {"type": "content_block_delta", "delta": {"text": "half"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 509}},
            {"type": "message_stop"},
        ),
        b'"half"',
    ),
    "c-odd": (
        CALLS["generate, stream"],
        _events(
            {"usageMetadata": {"promptTokenCount": 1001, "candidatesTokenCount": 3}, "responseId": "half"},
            {
                "candidates": [{"finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 1001, "candidatesTokenCount": 509},
            },
        ),
        b'"half"',
    ),
}


def test_charge_is_by_the_prices_at_admission(desk: Desk, crafted: CraftedUpstream) -> None:
    kinds = {"input": 1001, "output": 509}
    running: list[tuple[Sent, Client, threading.Event]] = []
    try:
        for group, (call, body, middle) in STREAMS.items():
            crafted.teach(f"prices-{group}", body, "text/event-stream")
            go_on = crafted.hold(f"prices-{group}", middle)
            sent, client = desk.open(group, call.path, call.body, headers=(("x-crafted", f"prices-{group}"),))
            running.append((sent, client, go_on))
            client.post(sent.post)
            client.await_match(middle)
        desk.stack.publish(dearer())
        in_force(desk, "CHF")
        after = desk.send("a", "/v1/responses", CALLS["responses"].body, sim={"usage": USAGE})
        for sent, client, go_on in running:
            go_on.set()
            sent.answer = client.rest()
            assert sent.answer and sent.answer.complete, sent
            call = STREAMS[sent.group][0]
            source, multiplier = route_of(sent.group, call.protocol)
            prices = prices_of(source, call.model[1])
            record = sent.record()
            assert prices and record["trilane.charge"] == charge(kinds, prices, multiplier), record
            assert record["trilane.currency"] == "EUR" and record["trilane.multiplier"] == "1.0000", record
            assert record["trilane.usage.status"] == "complete", record
        record = after.record()
        source, multiplier = route_of("a", "A")
        prices = prices_of(source, "gpt-5.1")
        assert prices
        six_times = Decimal(charge(kinds_of(record) or {}, prices, multiplier)) * 6
        assert Decimal(record["trilane.charge"]) == six_times and record["trilane.currency"] == "CHF"
        assert record["trilane.multiplier"] == "0.6000"
    finally:
        for _, client, go_on in running:
            go_on.set()
            client.sock.close()
        desk.stack.publish(document())
        in_force(desk, "EUR")


def _posts(desk: Desk, count: int) -> list[tuple[str, str, str, Post, bytes]]:
    """Requests of all protocols, each with a key of its own: key, group, call, request."""
    names = ["responses", "messages", "generate", "chat, stream", "messages, stream", "generate, stream"]
    groups = {"A": "a", "B": "b", "C": "c"}
    made = []
    for number in range(count):
        call = CALLS[names[number % len(names)]]
        group = groups[call.protocol]
        key, value = desk.new_key(group)
        body = json.dumps(call.body).encode()
        headers = [*credential_for(call.path, value).items(), ("content-type", "application/json")]
        headers += [("x-sim-usage", f"input={number + 1},output={number + 100}")]
        made.append((key, group, names[number % len(names)], Post("POST", call.path, headers, body), body))
    return made


def _check(desk: Desk, posts: list[Any], answers: list[Answer]) -> None:
    for number, ((key, group, name, post, _), answer) in enumerate(zip(posts, answers)):
        assert answer.status == 200 and answer.complete, answer
        sent = Sent(desk, "h1", group, key, "", post, answer)
        kinds = {"input": number + 1, "output": number + 100}
        expected = complete_members(sent, CALLS[name], told(CALLS[name].form, kinds))
        assert without_time(sent.record()) == expected


def test_kept_alive(desk: Desk) -> None:
    posts = _posts(desk, 18)
    with Http1(desk.stack.base_url) as client:
        answers = [client.request("POST", post.path, post.headers, body) for _, _, _, post, body in posts]
    _check(desk, posts, answers)


def test_pipelined(desk: Desk) -> None:
    posts = _posts(desk, 12)
    with Http1(desk.stack.base_url) as client:
        for _, _, _, post, body in posts:
            client.head("POST", post.path, [*post.headers, ("content-length", str(len(body)))])
            client.send(body)
        answers = [client.answer() for _ in posts]
    _check(desk, posts, answers)


def test_many_streams_of_one_connection(desk: Desk) -> None:
    posts = _posts(desk, 24)
    with Http2(desk.stack.base_url) as client:
        streams = []
        for _, _, _, post, body in posts:
            streams.append(client.start("POST", post.path, post.headers))
            client.data(streams[-1], body, end=True)
        answers = [client.answer(stream) for stream in streams]
    _check(desk, posts, answers)


def test_one_stream_of_many_is_reset(desk: Desk) -> None:
    """Its neighbours on the connection have records of their own."""
    posts = _posts(desk, 3)
    with Http2(desk.stack.base_url) as client:
        _, _, _, first, body = posts[0]
        key, value = desk.new_key("b")
        stalled = [
            *credential_for("/v1/messages", value).items(),
            ("content-type", "application/json"),
            ("x-sim-stall", "after=7"),
        ]
        gone = client.start("POST", "/v1/messages", stalled)
        client.data(gone, json.dumps(CALLS["messages, stream"].body).encode(), end=True)
        client.await_body(gone, 1)
        streams = []
        for _, _, _, post, body in posts:
            streams.append(client.start("POST", post.path, post.headers))
            client.data(streams[-1], body, end=True)
        left = client.answers[gone].body
        client.reset(gone)
        answers = [client.answer(stream) for stream in streams]
    _check(desk, posts, answers)
    sent = Sent(desk, "h2", "b", key, "", first)
    record = sent.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("client_abort", "estimated"), record
    call = CALLS["messages, stream"]
    used = kinds_of(record)
    assert used is not None, record
    check_estimates(record, used, call.form, json.dumps(call.body).encode(), got=left)
    assert charge_members(sent, call, used).items() <= record.items(), record
