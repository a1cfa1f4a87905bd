"""Chat Completions streams that are made to report their usage: by the fewest bytes, and only these."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Optional

import openai
import pytest
from ledger_calls import charge, kinds_of, prices_of, route_of
from ledger_desk import Client, Desk, Sent
from ledger_reader import Record
from raw import Answer

CHAT = "/v1/chat/completions"
OPTION = b'"stream_options":{"include_usage":true}'
WIRES = ["h1", "h1-chunked", "h2", "h2-length", "h2-pieces"]
USAGE = {"usage": "input=1001,cache_read=203,output=509,reasoning=613"}
TOKENS = {"gen_ai.usage.input_tokens": 1204, "gen_ai.usage.output_tokens": 1122}

#: Body, and what the upstream must get of it where that is another.
CASES: dict[str, tuple[bytes, Optional[bytes]]] = {
    "no options": (
        b'{"model":"gpt-5.1","stream":true,"messages":[]}',
        b'{"model":"gpt-5.1","stream":true,"messages":[],' + OPTION + b"}",
    ),
    "space before the end": (
        b'{"model":"gpt-5.1","messages":[],"stream":true \r\n}\n ',
        b'{"model":"gpt-5.1","messages":[],"stream":true \r\n,' + OPTION + b"}\n ",
    ),
    "options without it": (
        b'{"model":"gpt-5.1","stream":true,"stream_options":{"include_obfuscation":false},"messages":[]}',
        b'{"model":"gpt-5.1","stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true},'
        b'"messages":[]}',
    ),
    "empty options": (
        b'{"stream_options":{ },"model":"gpt-5.1","stream":true}',
        b'{"stream_options":{ "include_usage":true},"model":"gpt-5.1","stream":true}',
    ),
    "said no": (
        b'{"stream":true,"stream_options":{"include_usage": false},"model":"gpt-5.1"}',
        b'{"stream":true,"stream_options":{"include_usage": true},"model":"gpt-5.1"}',
    ),
    "said null": (
        b'{"model":"gpt-5.1","stream":true,"stream_options":{"include_usage":null}}',
        b'{"model":"gpt-5.1","stream":true,"stream_options":{"include_usage":true}}',
    ),
    "null options": (
        b'{"model":"gpt-5.1","stream":true,"stream_options":null}',
        b'{"model":"gpt-5.1","stream":true,"stream_options":{"include_usage":true}}',
    ),
    "said yes": (b'{"model":"gpt-5.1","stream":true,"stream_options":{"include_usage":true}}', None),
    "said yes, escaped": (b'{"model":"gpt-5.1","stream":true,"stream_options":{"include\\u005fusage":true}}', None),
    "a look-alike further down": (
        b'{"model":"gpt-5.1","stream":true,"messages":[{"stream_options":{"include_usage":true},"content":"}"}]}',
        b'{"model":"gpt-5.1","stream":true,"messages":[{"stream_options":{"include_usage":true},"content":"}"}],'
        + OPTION
        + b"}",
    ),
    "renamed as well": (
        b'{"stream":true,"model":"gpt-best","messages":["gpt-best"]}',
        b'{"stream":true,"model":"gpt-5.4-2026-03-05","messages":["gpt-best"],' + OPTION + b"}",
    ),
    "stream last": (
        b'{"messages":[],"model":"gpt-5.1","stream":true}',
        b'{"messages":[],"model":"gpt-5.1","stream":true,' + OPTION + b"}",
    ),
}
#: The same for bodies that do not stream: nothing is changed.
PLAIN = {
    "not streamed": b'{"model":"gpt-5.1","messages":[]}',
    "stream false": b'{"model":"gpt-5.1","messages":[],"stream":false}',
    "stream null": b'{"stream":null,"model":"gpt-5.1","messages":[]}',
}
_LONG = b"x" * 300_000
BIG: dict[str, tuple[bytes, Optional[bytes]]] = {
    "stream last": (
        b'{"model":"gpt-5.1","messages":["' + _LONG + b'"],"stream":true}',
        b'{"model":"gpt-5.1","messages":["' + _LONG + b'"],"stream":true,' + OPTION + b"}",
    ),
    "stream first": (
        b'{"stream":true,"model":"gpt-5.1","messages":["' + _LONG + b'"]}',
        b'{"stream":true,"model":"gpt-5.1","messages":["' + _LONG + b'"],' + OPTION + b"}",
    ),
    "options in the middle": (
        b'{"model":"gpt-5.1","messages":["'
        + _LONG
        + b'"],"stream_options":{"include_usage":null},"m":["'
        + _LONG
        + b'"],"stream":true}',
        b'{"model":"gpt-5.1","messages":["'
        + _LONG
        + b'"],"stream_options":{"include_usage":true},"m":["'
        + _LONG
        + b'"],"stream":true}',
    ),
    "renamed as well": (
        b'{"model":"gpt-5.4","messages":["' + _LONG + b'"],"stream":true}',
        b'{"model":"gpt-5.4-2026-03-05","messages":["' + _LONG + b'"],"stream":true,' + OPTION + b"}",
    ),
    "not streamed": (b'{"model":"gpt-5.1","messages":["' + _LONG + b'"]}', None),
    "said yes": (
        b'{"model":"gpt-5.1","stream_options":{"include_usage":true},"messages":["' + _LONG + b'"],"stream":true}',
        None,
    ),
}
ALL = {**CASES, **{name: (body, None) for name, body in PLAIN.items()}}
TABLE = [(f"{name}", *case, "a-asks") for name, case in ALL.items()]
TABLE += [(f"big, {name}", *case, "a-asks") for name, case in BIG.items()]
TABLE += [("mixed, no options", *CASES["no options"], "mixed-asks")]
ROWS = {name: (body, upstream or body, group) for name, body, upstream, group in TABLE}


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


@pytest.fixture(scope="module")
def sent(desk: Desk, pool: ThreadPoolExecutor) -> dict[tuple[str, str], Future[Sent]]:
    def send(name: str, wire: str) -> Sent:
        body, _, group = ROWS[name]
        act: dict[str, Any] = {"h1-chunked": {"act": chunked}, "h2-pieces": {"act": in_pieces}}.get(wire, {})
        length = wire in ("h1", "h2-length")
        return desk.send(group, CHAT, body, wire=wire[:2], sim=USAGE, length=length, **act)

    return {(name, wire): pool.submit(send, name, wire) for name in ROWS for wire in WIRES}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", ROWS)
def test_group_that_asks(sent: dict[tuple[str, str], Future[Sent]], name: str, wire: str) -> None:
    body, upstream, _ = ROWS[name]
    exchange = sent[name, wire].result(timeout=60)
    assert exchange.status == 200 and exchange.answer and exchange.answer.complete, exchange
    entry = exchange.seen()[-1]
    if len(upstream) <= 65536:
        assert entry["body"].encode() == upstream
    assert entry["body_bytes"] == len(upstream)
    assert entry["body_sha256"] == hashlib.sha256(upstream).hexdigest()
    length = dict(entry["headers"]).get("content-length")
    assert length in (None, str(len(upstream))), entry["headers"]
    if wire == "h1" and len(body) < 65536:
        assert length, "what was held whole goes with its length"
    record = exchange.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("finished", "complete"), record
    assert TOKENS.items() <= record.items(), record
    assert record["trilane.stream"] is (json.loads(body).get("stream") is True)
    assert record["http.request.body.size"] == len(body), record
    assert record["http.response.body.size"] == len(exchange.answer.body), record
    _charged(exchange, record)


def _charged(exchange: Sent, record: Record) -> None:
    source, multiplier = route_of(exchange.group, "A")
    prices = prices_of(source, record["trilane.model"])
    assert prices and record["trilane.charge"] == charge(kinds_of(record) or {}, prices, multiplier), record


@pytest.mark.parametrize("name", ALL)
def test_group_that_does_not_ask(desk: Desk, name: str) -> None:
    body, _ = ALL[name]
    renamed = body.replace(b'"model":"gpt-best"', b'"model":"gpt-5.4-2026-03-05"')
    exchange = desk.send("a", CHAT, body, sim=USAGE)
    assert exchange.status == 200 and exchange.answer, exchange
    assert exchange.seen()[-1]["body"].encode() == renamed
    streams = json.loads(body).get("stream") is True
    asked = (json.loads(body).get("stream_options") or {}).get("include_usage") is True
    record = exchange.record()
    assert record["trilane.outcome"] == "finished"
    if streams and not asked:
        assert record["trilane.usage.status"] == "partial", record
        assert kinds_of(record) is None and "trilane.charge" not in record, record
    else:
        assert record["trilane.usage.status"] == "complete" and TOKENS.items() <= record.items(), record
    assert record["http.request.body.size"] == len(body)
    assert record["http.response.body.size"] == len(exchange.answer.body) > 0


def test_null_options_are_left_where_it_is_not_known_whether_they_matter(desk: Desk) -> None:
    """More than the inspect window lies between them and what says that the body streams."""
    body = (
        b'{"model":"gpt-5.1","messages":["'
        + _LONG
        + b'"],"stream_options":null,"m":["'
        + _LONG
        + b'"],"stream":true}'
    )
    exchange = desk.send("a-asks", CHAT, body, sim=USAGE)
    assert exchange.seen()[-1]["body_sha256"] == hashlib.sha256(body).hexdigest()
    record = exchange.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("finished", "partial"), record
    assert kinds_of(record) is None and "trilane.charge" not in record, record


@pytest.mark.parametrize("path", ["/v1/responses", "/responses"])
def test_only_chat_is_changed(desk: Desk, path: str) -> None:
    body = b'{"model":"gpt-5.1","stream":true,"input":"hi"}'
    exchange = desk.send("a-asks", path, body, sim=USAGE)
    assert exchange.seen()[-1]["body"].encode() == body
    assert exchange.record()["trilane.usage.status"] == "complete"


def test_sdk_gets_the_usage_chunk(desk: Desk) -> None:
    for group, chunks in (("a-asks", 1), ("mixed-asks", 1), ("a", 0)):
        key, value = desk.new_key(group)
        with openai.OpenAI(base_url=f"{desk.stack.base_url}/v1", api_key=value, max_retries=0) as client:
            stream = client.chat.completions.create(
                model="gpt-5.1",
                messages=[{"role": "user", "content": "hi " * 100_000}],
                stream=True,
                extra_headers={"x-sim-usage": USAGE["usage"]},
            )
            told = [chunk.usage for chunk in stream if chunk.usage]
        assert len(told) == chunks, f"{group}: {told}"
        found = desk.ledger.of_key(key)
        assert len(found) == 1, found
        for usage in told:
            assert usage.prompt_tokens == found[0]["gen_ai.usage.input_tokens"]
            assert usage.completion_tokens == found[0]["gen_ai.usage.output_tokens"]
        assert found[0]["trilane.usage.status"] == ("complete" if chunks else "partial")
