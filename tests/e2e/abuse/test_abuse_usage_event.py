"""The event that the gateway asked for and the client did not: it alone is taken out, wherever the stream is cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from e2e.abuse.abuse_answers import DONE, chat, chat_chunk, chat_events, event, kind_usage
from e2e.abuse.abuse_desk import CHAT, Desk, charged, cost, forwarded
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


@pytest.mark.parametrize("name", ["plain", "CRLF", "in two lines"])
def test_wherever_the_stream_is_cut(desk: Desk, name: str) -> None:
    events = chat_events("hello, world and all of it")[:-1]
    whole = b"".join(events) + EXTRA[name] + DONE
    at = len(b"".join(events))
    want = b"".join(events) + DONE
    for cut in range(at - 3, at + len(EXTRA[name]) + 4, 3):
        assert send(desk, f"{name} at {cut}", stream(whole[:cut], whole[cut:])) == want, cut
    assert send(desk, f"{name}, byte by byte", stream(*(whole[i : i + 1] for i in range(len(whole))))) == want
