"""Chat Completions streams that are made to report their usage, however their bodies come.

Which bytes are added where, and who is told, is in `tests/golden/cases/usage_asked.txt`.
"""

from __future__ import annotations

from typing import Any

import pytest
from e2e.ledger.ledger_desk import Client, Desk, Sent, whole
from e2e.raw import Answer

CHAT = "/v1/chat/completions"
OPTION = b',"stream_options":{"include_usage":true}}'
USAGE = {"usage": "input=1001,cache_read=203,output=509,reasoning=613"}
TOKENS = {"gen_ai.usage.input_tokens": 1204, "gen_ai.usage.output_tokens": 1122}
BODIES = {
    "small": b'{"model":"gpt-5.1","stream":true,"messages":[]}',
    "big, stream last": b'{"model":"gpt-5.1","messages":["' + b"x" * 300_000 + b'"],"stream":true}',
}


def in_pieces(sent: Sent, client: Client) -> Answer:
    """The body in chunks that no member ends with."""
    body = sent.post.body or b""
    sent.post.part, sent.post.whole = b"", False
    client.post(sent.post)
    step = max(7, len(body) // 40)
    for at in range(0, len(body), step):
        client.more(body[at : at + step])
    client.more(b"", end=True)
    return client.rest()


def chunked(sent: Sent, client: Any) -> Answer:
    body = sent.post.body or b""
    sent.post.part = b""
    sent.post.headers.append(("transfer-encoding", "chunked"))
    client.post(sent.post)
    step = max(7, len(body) // 40)
    for at in range(0, len(body), step):
        client.chunk(body[at : at + step])
    client.chunk(b"")
    return client.rest()


WIRES = {"h1": whole, "h1-chunked": chunked, "h2": whole, "h2-length": whole, "h2-pieces": in_pieces}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", BODIES)
def test_group_that_asks(desk: Desk, name: str, wire: str) -> None:
    body = BODIES[name]
    exchange = desk.send("a", CHAT, body, wire=wire[:2], sim=USAGE, length=wire in ("h1", "h2-length"), act=WIRES[wire])
    assert exchange.status == 200 and exchange.answer and exchange.answer.complete, exchange
    entry = exchange.seen()[-1]
    wanted = len(body) - 1 + len(OPTION)
    assert entry["body_bytes"] == wanted, entry
    assert name != "small" or entry["body"].encode() == body[:-1] + OPTION
    length = dict(entry["headers"]).get("content-length")
    assert length in (None, str(wanted)), entry["headers"]
    if wire == "h1" and name == "small":
        assert length, "what was held whole goes with its length"
    assert exchange.answer.body.endswith(b'"finish_reason":"stop"}],"usage":null}\n\ndata: [DONE]\n\n'), exchange
    record = exchange.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("finished", "complete"), record
    assert TOKENS.items() <= record.items(), record
    assert record["http.request.body.size"] == len(body), record
    assert record["http.response.body.size"] == len(exchange.answer.body), record


#: Group, whether the client asks, and what the ledger calls the numbers.
SDK = [("a", False, "complete"), ("a", True, "complete"), ("a-never", False, "estimated")]


@pytest.mark.parametrize(("group", "asks", "status"), SDK)
def test_sdk_gets_the_usage_chunk_if_it_asked(desk: Desk, group: str, asks: bool, status: str) -> None:
    import openai  # here, since each worker imports all modules before its first test

    key, value = desk.new_key(group)
    options: dict[str, Any] = {"stream_options": {"include_usage": True}} if asks else {}
    with openai.OpenAI(base_url=f"{desk.stack.base_url}/v1", api_key=value, max_retries=0) as client:
        stream = client.chat.completions.create(
            model="gpt-5.1",
            messages=[{"role": "user", "content": "hi " * 100_000}],
            stream=True,
            extra_headers={"x-sim-usage": USAGE["usage"]},
            **options,
        )
        chunks = list(stream)
    if asks:
        *chunks, last = chunks
        assert last.usage and not last.choices, last
        assert last.usage.prompt_tokens == TOKENS["gen_ai.usage.input_tokens"]
        assert last.usage.completion_tokens == TOKENS["gen_ai.usage.output_tokens"]
    # As most programs read it.
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text.strip() == " ".join(["pong"] * 5), text
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert not any(chunk.usage for chunk in chunks), chunks
    found = desk.ledger.of_key(key)
    assert len(found) == 1 and found[0]["trilane.usage.status"] == status, found
    if status == "complete":
        assert TOKENS.items() <= found[0].items(), found
