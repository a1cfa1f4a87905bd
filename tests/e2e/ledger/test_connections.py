"""Connections with many requests, and a document that changes under one of them."""

from __future__ import annotations

import json
from typing import Any

from e2e.ledger.ledger_calls import CALLS, USAGE
from e2e.ledger.ledger_desk import Client, Desk, Post, Sent
from e2e.ledger.ledger_document import document
from e2e.raw import Answer, Http1, Http2
from e2e.support import credential_for
from waiting import until

NAMES = ["responses", "messages", "generate", "chat, alias, stream", "messages, stream", "generate, stream"]


def _posts(desk: Desk, count: int) -> list[tuple[str, Post]]:
    """Requests of all protocols, each with a key of its own and other numbers."""
    made = []
    for number in range(count):
        call = CALLS[NAMES[number % len(NAMES)]]
        key, value = desk.new_key(call.group)
        headers = [*credential_for(call.path, value).items(), ("content-type", "application/json")]
        headers += [("x-sim-usage", f"input={number + 1},output={number + 100}")]
        made.append((key, Post("POST", call.path, headers, call.data)))
    return made


def _check(desk: Desk, posts: list[tuple[str, Post]], answers: list[Answer]) -> None:
    for number, ((key, post), answer) in enumerate(zip(posts, answers)):
        assert answer.status == 200 and answer.complete, answer
        record = desk.ledger.only(key)
        told = [record[f"gen_ai.usage.{kind}_tokens"] for kind in ("input", "output")]
        assert (record["trilane.usage.status"], told) == ("complete", [number + 1, number + 100]), record
        assert record["url.path"] == post.path.partition("?")[0], record
        assert record["http.response.body.size"] == len(answer.body), record


def test_kept_alive(desk: Desk) -> None:
    posts = _posts(desk, 18)
    with Http1(desk.stack.base_url) as client:
        answers = [client.request("POST", post.path, post.headers, post.body) for _, post in posts]
    _check(desk, posts, answers)


def test_pipelined(desk: Desk) -> None:
    posts = _posts(desk, 12)
    with Http1(desk.stack.base_url) as client:
        for _, post in posts:
            client.head("POST", post.path, [*post.headers, ("content-length", str(len(post.body or b"")))])
            client.send(post.body or b"")
        answers = [client.answer() for _ in posts]
    _check(desk, posts, answers)


def test_one_stream_of_many_is_reset(desk: Desk) -> None:
    """Its neighbours on the connection have records of their own."""
    posts = _posts(desk, 24)
    key, value = desk.new_key("b")
    with Http2(desk.stack.base_url) as client:
        stalled = [*credential_for("/v1/messages", value).items(), ("content-type", "application/json"), ("x-sim-stall", "after=7")]
        gone = client.start("POST", "/v1/messages", stalled)
        client.data(gone, CALLS["messages, stream"].data, end=True)
        client.await_body(gone, 1)
        streams = []
        for _, post in posts:
            streams.append(client.start("POST", post.path, post.headers))
            client.data(streams[-1], post.body or b"", end=True)
        client.reset(gone)
        answers = [client.answer(stream) for stream in streams]
    _check(desk, posts, answers)
    record = desk.ledger.only(key)
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("client_abort", "estimated"), record


def test_charge_is_by_the_prices_at_admission(desk: Desk) -> None:
    call = CALLS["messages, stream"]

    def publish(written: dict[str, Any], currency: str) -> None:
        desk.stack.publish(written)

        def in_force() -> bool:
            """On every worker."""
            probes = [desk.send("a", "/v1/responses", CALLS["responses"].body) for _ in range(8)]
            return all(probe.record()["trilane.currency"] == currency for probe in probes)

        until(in_force)

    def act(sent: Sent, client: Client) -> Answer:
        client.post(sent.post)
        sent.wait_bytes(len(sent.post.part))
        dearer = json.loads(json.dumps(document()).replace('"25"', '"50"'))
        publish({**dearer, "currency": "CHF"}, "CHF")
        client.more(call.data[len(sent.post.part) :], end=True)
        return client.rest()

    try:
        before = desk.send("b", call.path, call.data, sim=USAGE, part=call.data[:-1], act=act)
        after = desk.send("b", call.path, call.data, sim=USAGE)
    finally:
        publish(document(), "EUR")
    told = [[sent.record()[f"trilane.{name}"] for name in ("charge", "currency")] for sent in (before, after)]
    assert told == [[call.charge, "EUR"], ["0.06091", "CHF"]]
