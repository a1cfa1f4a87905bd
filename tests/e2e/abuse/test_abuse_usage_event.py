"""The event that the gateway asked for and the client did not: it alone is taken out, wherever the stream is cut."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from e2e.abuse.abuse_answers import DONE, STREAMS, chat, chat_chunk, chat_events, event, kind_usage
from e2e.abuse.abuse_desk import CHAT, Desk, amount, charged, cost, forwarded, recorded
from e2e.abuse.abuse_document import MODELS
from e2e.abuse.recorder import Script, stream

USAGE = kind_usage("chat")
OPTION = b',"stream_options":{"include_usage":true}}'
EXACTLY = cost("A", input=1000, output=500)

_head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODELS["A"]}
#: What an upstream may send as the extra event.
EXTRA: dict[str, bytes] = {
    "plain": chat_chunk(usage=USAGE),
    "compact": b"data:" + json.dumps({**_head, "choices": [], "usage": USAGE}, separators=(",", ":")).encode() + b"\n\n",
    "usage first": event({"usage": USAGE, **_head, "choices": []}),
    "CRLF": chat_chunk(usage=USAGE).replace(b"\n", b"\r\n"),
    "CR": chat_chunk(usage=USAGE).replace(b"\n", b"\r"),
    "with a name and an id": b"event: message\nid: 7\n" + chat_chunk(usage=USAGE),
    "more members": chat_chunk(usage=USAGE, service_tier="default", system_fingerprint="fp", obfuscation="xyz"),
    "spaces": b'data: { "choices" : [ ] , "usage" : {"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500} }\n\n',
    "in two lines": b'data: {"choices":[],\ndata: "usage":{"prompt_tokens":1000,"completion_tokens":500}}\n\n',
}
#: Events that every client gets.
KEPT: dict[str, bytes] = {
    "no choices, no usage": event({**_head, "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
    "no choices, usage null": event({**_head, "choices": [], "usage": None}),
    "a choice with usage": chat_chunk("x", usage=USAGE),
    "the text of such an event": chat_chunk('"choices":[],"usage":{"prompt_tokens":1}}\n\ndata: '),
    "nested": event({**_head, "choices": [{"index": 0, "delta": {"x": {"choices": [], "usage": {"prompt_tokens": 1}}}}]}),
    "a comment": b': {"choices":[],"usage":{"prompt_tokens":1}}\n\n',
    "another field": b'x-data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n',
}


def send(desk: Desk, name: str, script: Script, group: str = "a", **more: Any) -> bytes:
    sent = desk.send(group, CHAT, chat(stream=True, **more), name=name, answer=script)
    assert sent.status == 200 and sent.answer and sent.answer.complete, sent
    if group == "a" and not more:
        forwarded(body=lambda body: body[:-1] + OPTION)(sent)
    charged("complete", exactly=EXACTLY)(sent)
    return sent.answer.body


@pytest.mark.parametrize("name", EXTRA)
def test_it_is_withheld(desk: Desk, name: str) -> None:
    events = chat_events("hello, world and all of it")[:-1]
    got = send(desk, name, stream(*events, EXTRA[name], DONE))
    assert got == b"".join(events) + DONE, name


@pytest.mark.parametrize("option", [{"include_usage": False}, {"include_obfuscation": False}, {}])
def test_it_is_withheld_from_who_said_no(desk: Desk, option: dict[str, Any]) -> None:
    events = chat_events("hello, world and all of it")[:-1]
    got = send(desk, str(option), stream(*events, EXTRA["plain"], DONE), stream_options=option)
    assert got == b"".join(events) + DONE


@pytest.mark.parametrize("name", EXTRA)
def test_who_asked_gets_it(desk: Desk, name: str) -> None:
    events = [*chat_events("hello, world and all of it")[:-1], EXTRA[name], DONE]
    got = send(desk, name, stream(*events), stream_options={"include_usage": True})
    assert got == b"".join(events), name


def test_a_group_that_does_not_ask(desk: Desk) -> None:
    """What its upstream reports all the same goes on."""
    events = [*chat_events("hello, world and all of it")[:-1], EXTRA["plain"], DONE]
    got = send(desk, "silent", stream(*events), group="a-silent")
    assert got == b"".join(events)


@pytest.mark.parametrize("name", KEPT)
def test_nothing_else_is_taken_out(desk: Desk, name: str) -> None:
    events = [KEPT[name], *chat_events("hello, world and all of it")[:-1], KEPT[name]]
    got = send(desk, name, stream(*events, EXTRA["plain"], DONE))
    assert got == b"".join(events) + DONE, name


@pytest.mark.parametrize("name", ["plain", "CRLF", "in two lines"])
def test_wherever_the_stream_is_cut(desk: Desk, name: str) -> None:
    events = chat_events("hello, world and all of it")[:-1]
    whole = b"".join(events) + EXTRA[name] + DONE
    at = len(b"".join(events))
    want = b"".join(events) + DONE
    for cut in range(at - 3, at + len(EXTRA[name]) + 4, 3):
        assert send(desk, f"{name} at {cut}", stream(whole[:cut], whole[cut:])) == want, cut
    assert send(desk, f"{name}, byte by byte", stream(*(whole[i : i + 1] for i in range(len(whole))))) == want


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_as_the_last_bytes_of_a_stream(desk: Desk, end: bytes) -> None:
    events = chat_events("hello, world and all of it")[:-1]
    script = stream(*events, EXTRA["plain"].rstrip(b"\n") + end)
    sent = desk.send("a", CHAT, chat(stream=True), name=repr(end), answer=script)
    assert sent.answer and sent.answer.body == b"".join(events), sent
    # Without the protocol's own end it is not taken for final, and still counts.
    assert amount(sent.record()) >= Decimal(EXACTLY), sent.record()


def test_a_long_event_is_not_held(desk: Desk) -> None:
    """One that turns out to be no usage event after 200 KB reaches the client whole."""
    long = event({**_head, "choices": [], "padding": "x" * 200_000})
    events = [long, *chat_events("hello, world and all of it")[:-1]]
    assert send(desk, "long", stream(*events, EXTRA["plain"], DONE)) == b"".join(events) + DONE


def test_several_of_them(desk: Desk) -> None:
    """As from upstreams that report as they go: the last one counts."""
    events = chat_events("hello, world and all of it")[:-1]
    first = chat_chunk(usage={"prompt_tokens": 1000, "completion_tokens": 1, "total_tokens": 1001})
    got = send(desk, "several", stream(first, *events, EXTRA["plain"], DONE))
    assert got == b"".join(events) + DONE


@pytest.mark.parametrize("kind", ["responses", "messages", "generate"])
def test_other_streams_are_not_changed(desk: Desk, kind: str) -> None:
    group, path, body = STREAMS[kind]
    extra = EXTRA["plain"]
    sent = desk.send(group, path, body("hi"), name=kind, answer=stream(extra, extra))
    forwarded()(sent)
    assert sent.answer and sent.answer.body == extra * 2, sent
    recorded(http__response__body__size=len(extra) * 2)(sent)
