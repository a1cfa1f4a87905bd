"""What reached an upstream and reports no final usage is paid for, however the client arranges that."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest
from e2e.abuse.abuse_answers import (
    EVENTS,
    KINDS,
    LEAST_PER_TOKEN,
    MOST_PER_TOKEN,
    PROMPT,
    STREAMS,
    TEXT,
    answered,
    chat,
    generate,
    in_events,
    kind_usage,
    prompt,
    protocol_of_kind,
    text,
)
from e2e.abuse.abuse_desk import (
    CHAT,
    Desk,
    Sent,
    amount,
    charged,
    cost,
    leave_after,
    leave_when_sent,
    post,
    recorded,
    uncharged,
)
from e2e.abuse.recorder import Reset, Script, stream, whole
from e2e.raw import Http1

WAIT = threading.Event


def bounds(kind: str, *, told: int = PROMPT, said: int = TEXT) -> dict[str, str]:
    """The least and the most that so many characters of a prompt and of an answer may cost."""
    protocol = protocol_of_kind(kind)
    # What stands around the text counts as well: at most half as much again, and a hundred tokens.
    most_in, most_out = told * 3 // (2 * LEAST_PER_TOKEN) + 100, said * 3 // (2 * LEAST_PER_TOKEN) + 100
    return {
        "least": cost(protocol, input=told // MOST_PER_TOKEN, output=said // MOST_PER_TOKEN),
        "most": cost(protocol, input=most_in, output=most_out if said else 0),
    }


# ---- Answers that report nothing


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_without_usage(desk: Desk, kind: str) -> None:
    group, path, body = STREAMS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, answer=in_events(kind))
    assert sent.status == 200 and sent.answer and sent.answer.complete, sent
    charged("estimated", **bounds(kind))(sent)


# ---- Clients that leave


@pytest.mark.parametrize("kind", STREAMS)
def test_leaving_before_the_last_event(desk: Desk, kind: str) -> None:
    """Usage comes in the last event; all of the text has come by then."""
    group, path, body = STREAMS[kind]
    # The last event that says anything, and what follows it, is never sent.
    cut = {"chat": 2, "responses": 1, "messages": 2, "generate": 1}[kind]
    events = EVENTS[kind](usage=kind_usage(kind))[:-cut]
    seen = text[-100:].encode() if kind != "generate" else text[TEXT * 6 // 8 : TEXT * 6 // 8 + 100].encode()
    said = TEXT if kind != "generate" else TEXT * 7 // 8
    script = stream(*events, WAIT(), end=False)
    sent = desk.send(group, path, body(prompt), name=kind, answer=script, act=leave_after(seen))
    assert sent.record()["trilane.outcome"] == "client_abort", sent
    charged("estimated", **bounds(kind, said=said))(sent)


@pytest.mark.parametrize("kind", STREAMS)
def test_leaving_a_stream_before_its_head(desk: Desk, kind: str) -> None:
    """Nothing was seen of an output: the input is paid for."""
    group, path, body = STREAMS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, act=leave_when_sent)
    charged("estimated", **bounds(kind, said=0))(sent)
    recorded(http__response__status_code=0)(sent)


def test_output_of_an_answer_left_early_grows_with_time(desk: Desk) -> None:
    """And no further than what was reserved for it."""

    def after(seconds: float) -> Any:
        def act(sent: Sent, client: Http1) -> None:
            desk.recorder.teach(sent.marker, [WAIT()])
            post(sent, client)
            desk.recorder.wait(sent.marker, complete=True)
            WAIT().wait(seconds)
            client.reset()

        return act

    at_once = desk.send("a", CHAT, chat(prompt), name="at once", act=after(0))
    later = desk.send("a", CHAT, chat(prompt), name="later", act=after(2))
    capped = desk.send("a", CHAT, chat(prompt, max_tokens=10), name="capped", act=after(2))
    first, then, most = (amount(sent.record()) for sent in (at_once, later, capped))
    assert then > first > 0, (first, then)
    # The cap itself is a few bytes of the body.
    assert most <= first + Decimal(cost("A", input=20, output=10)), (first, most)


def test_leaving_an_answer_in_its_middle(desk: Desk) -> None:
    body = answered("chat", kind_usage("chat"))
    data = whole(body)
    script: Script = [data[: len(data) // 2], WAIT()]
    sent = desk.send("a", CHAT, chat(prompt), name="middle", answer=script, act=leave_after(text[:50].encode()))
    charged("estimated", least=bounds("chat", said=0)["least"])(sent)


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_before_the_body_was_sent(desk: Desk, kind: str) -> None:
    """The upstream cannot have begun."""
    group, path, body = KINDS[kind]

    def act(sent: Sent, client: Http1) -> None:
        data = sent.body or b""
        client.head(sent.method, sent.path, [*sent.headers, ("content-length", str(len(data)))])
        client.send(data[:-10])
        client.reset()

    sent = desk.send(group, path, body(prompt), name=kind, act=act)
    uncharged("none")(sent)


# ---- Upstreams that fail


@pytest.mark.parametrize("kind", STREAMS)
def test_a_reset_before_an_answer_costs_nothing(desk: Desk, kind: str) -> None:
    group, path, body = STREAMS[kind]
    sent = desk.send(group, path, body(prompt), name=kind, answer=[Reset()])
    assert sent.status == 502, sent
    uncharged("failed")(sent)


@pytest.mark.parametrize("kind", STREAMS)
def test_a_reset_in_a_stream(desk: Desk, kind: str) -> None:
    """What had passed is paid for."""
    group, path, body = STREAMS[kind]
    events = EVENTS[kind]()[:-4]
    sent = desk.send(group, path, body(prompt), name=kind, answer=stream(*events, Reset(), end=False))
    assert sent.answer and not sent.answer.complete, sent
    charged("estimated", least=bounds(kind, said=0)["least"], most=bounds(kind)["most"])(sent)


# ---- Bodies whose end never comes


@pytest.mark.parametrize("length", [True, False], ids=["by length", "chunked"])
@pytest.mark.parametrize("kind", KINDS)
def test_complete_json_was_sent(desk: Desk, kind: str, length: bool) -> None:
    """An upstream that reads on its own may be at work on it, whether or not the end of the body comes."""
    group, path, body = KINDS[kind]

    def act(sent: Sent, client: Http1) -> None:
        data = sent.body or b""
        how = ("content-length", str(len(data) + 2)) if length else ("transfer-encoding", "chunked")
        client.head(sent.method, sent.path, [*sent.headers, how])
        (client.send if length else client.chunk)(data)
        desk.recorder.wait(sent.marker, size=len(data))
        client.reset()

    sent = desk.send(group, path, body(prompt), name=kind, act=act)
    charged("estimated", least=bounds(kind, said=0)["least"])(sent)


@pytest.mark.parametrize("kind", KINDS)
def test_complete_json_with_something_behind_it(desk: Desk, kind: str) -> None:
    """It is refused, and paid for: it had been there."""
    group, path, body = KINDS[kind]

    def act(sent: Sent, client: Http1) -> Any:
        data = sent.body or b""
        client.head(sent.method, sent.path, [*sent.headers, ("transfer-encoding", "chunked")])
        client.chunk(data)
        desk.recorder.wait(sent.marker, size=len(data))
        client.chunk(b"x")
        return client.answer()

    sent = desk.send(group, path, body(prompt), name=kind, act=act, answer=[WAIT()])
    assert sent.status == 400, sent
    charged("estimated", least=bounds(kind, said=0)["least"])(sent)
    recorded(trilane__outcome="refused")(sent)


# ---- Budgets and limits


@pytest.mark.parametrize("kind", STREAMS)
def test_a_budget_ends(desk: Desk, kind: str) -> None:
    """Neither streams without usage nor leaving early goes on for ever."""
    group, path, body = STREAMS[kind]
    for way, how in {"no usage": {"answer": in_events(kind)}, "leaves": {"act": leave_when_sent}}.items():
        key = desk.new_key(group, "budget")
        first = desk.send(group, path, body(prompt), name=f"{kind}: {way}", key=key, **how)
        charged("estimated")(first)
        assert Decimal(first.record()["trilane.spent.key.day"]) == amount(first.record()), first
        second = desk.send(group, path, body(prompt), name=f"{kind}: {way}, again", key=key)
        assert (second.status, second.code) == (429, "insufficient_quota"), second
        assert not second.arrived(), second
