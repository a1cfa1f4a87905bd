"""Chat Completions streams that are made to report their usage: by the fewest bytes, and only who asked is told."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Optional

import pytest
from e2e.ledger.estimates import check_estimates
from e2e.ledger.ledger_calls import charge, kinds_of, prices_of, route_of
from e2e.ledger.ledger_desk import Client, Desk, Sent
from e2e.ledger_reader import Record
from e2e.raw import Answer

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
#: Groups that say they ask, and such as ask of themselves: their models have prices.
TABLE = [(f"{name}", *case, "a-asks") for name, case in ALL.items()]
TABLE += [(f"big, {name}", *case, "a-asks") for name, case in BIG.items()]
TABLE += [("mixed, no options", *CASES["no options"], "mixed-asks")]
TABLE += [(f"by default, {name}", *case, "a") for name, case in ALL.items()]
TABLE += [(f"by default, big, {name}", *case, "a") for name, case in BIG.items()]
TABLE += [("by default, mixed, no options", *CASES["no options"], "mixed")]
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
    streams, asked = what_it_wants(body)
    assert usage_events(exchange.answer.body) == (1 if asked else 0), exchange
    if streams:
        last = DONE if asked else b'"finish_reason":"stop"}],"usage":null}\n\n' + DONE
        assert exchange.answer.body.endswith(last), exchange
    record = exchange.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("finished", "complete"), record
    assert TOKENS.items() <= record.items(), record
    assert record["trilane.stream"] is streams
    assert record["http.request.body.size"] == len(body), record
    assert record["http.response.body.size"] == len(exchange.answer.body), record
    _charged(exchange, record)


DONE = b"data: [DONE]\n\n"


def what_it_wants(body: bytes) -> tuple[bool, bool]:
    """Whether a request wants a stream, and one that tells its usage."""
    wanted = json.loads(body)
    streams = wanted.get("stream") is True
    return streams, streams and (wanted.get("stream_options") or {}).get("include_usage") is True


def usage_events(answer: bytes) -> int:
    """How many events there are in a stream that a client without a thought of them stumbles over."""
    if not answer.startswith(b"data: "):
        return 0
    *events, rest = answer.split(b"\n\n")
    assert not rest, f"half an event: {rest!r}"
    chunks = [json.loads(event.removeprefix(b"data: ")) for event in events if event != b"data: [DONE]"]
    assert len(events) == len(chunks) + 1, answer
    return sum(not chunk["choices"] for chunk in chunks)


def _charged(exchange: Sent, record: Record) -> None:
    source, multiplier = route_of(exchange.group, "A")
    prices = prices_of(source, record["trilane.model"])
    assert prices and record["trilane.charge"] == charge(kinds_of(record) or {}, prices, multiplier), record


def _estimated(exchange: Sent, record: Record) -> None:
    """Nothing was reported: all of it is estimated and charged; in a free group there is nothing."""
    kinds = kinds_of(record)
    if exchange.group == "a-free":
        assert record["trilane.usage.status"] == "partial", record
        assert kinds is None and "trilane.charge" not in record, record
        return
    assert record["trilane.usage.status"] == "estimated" and kinds is not None, record
    assert "trilane.usage.reported" not in record and record["trilane.estimated.output_tokens"] > 0, record
    check_estimates(record, kinds, "chat", exchange.post.body or b"", got=exchange.got)
    assert exchange.got and record["http.response.body.size"] == len(exchange.got), record


@pytest.mark.parametrize("group", ["a-never", "a-free"])
@pytest.mark.parametrize("name", ALL)
def test_group_that_does_not_ask(desk: Desk, name: str, group: str) -> None:
    body, _ = ALL[name]
    renamed = body.replace(b'"model":"gpt-best"', b'"model":"gpt-5.4-2026-03-05"')
    exchange = desk.send(group, CHAT, body, sim=USAGE)
    assert exchange.status == 200 and exchange.answer, exchange
    assert exchange.seen()[-1]["body"].encode() == renamed
    streams, asked = what_it_wants(body)
    assert usage_events(exchange.answer.body) == (1 if asked else 0), exchange
    record = exchange.record()
    assert record["trilane.outcome"] == "finished"
    if streams and not asked:
        _estimated(exchange, record)
    else:
        assert record["trilane.usage.status"] == "complete" and TOKENS.items() <= record.items(), record
    if "trilane.charge" in record or group != "a-free":
        _charged(exchange, record)
    assert record["http.request.body.size"] == len(body)
    assert record["http.response.body.size"] == len(exchange.answer.body) > 0


def test_a_model_without_prices_is_not_asked(desk: Desk) -> None:
    """Unless its group says so."""
    body = b'{"model":"gpt-unpriced","stream":true,"messages":[]}'
    asked = body[:-1] + b"," + OPTION + b"}"
    for group, upstream in (("a", body), ("mixed", body), ("a-asks", asked), ("mixed-asks", asked)):
        exchange = desk.send(group, CHAT, body, sim=USAGE)
        assert exchange.answer and usage_events(exchange.answer.body) == 0, exchange
        assert exchange.seen()[-1]["body"].encode() == upstream, group
        record = exchange.record()
        assert "trilane.charge" not in record, record
        if upstream == body:
            _estimated(exchange, record)
        else:
            assert record["trilane.usage.status"] == "complete" and TOKENS.items() <= record.items(), record


@pytest.mark.parametrize("group", ["a-asks", "a"])
def test_null_options_are_left_where_it_is_not_known_whether_they_matter(desk: Desk, group: str) -> None:
    """More than the inspect window lies between them and what says that the body streams."""
    body = (
        b'{"model":"gpt-5.1","messages":["'
        + _LONG
        + b'"],"stream_options":null,"m":["'
        + _LONG
        + b'"],"stream":true}'
    )
    exchange = desk.send(group, CHAT, body, sim=USAGE)
    assert exchange.seen()[-1]["body_sha256"] == hashlib.sha256(body).hexdigest()
    record = exchange.record()
    assert record["trilane.outcome"] == "finished", record
    _estimated(exchange, record)
    _charged(exchange, record)


@pytest.mark.parametrize("group", ["a-asks", "a"])
@pytest.mark.parametrize("path", ["/v1/responses", "/responses"])
def test_only_chat_is_changed(desk: Desk, path: str, group: str) -> None:
    body = b'{"model":"gpt-5.1","stream":true,"input":"hi"}'
    exchange = desk.send(group, path, body, sim=USAGE)
    assert exchange.seen()[-1]["body"].encode() == body
    assert exchange.record()["trilane.usage.status"] == "complete"


#: Group, whether the client asks, and what the ledger calls the numbers.
SDK = [
    ("a", False, "complete"),
    ("a", True, "complete"),
    ("mixed", False, "complete"),
    ("a-asks", False, "complete"),
    ("a-asks", True, "complete"),
    ("mixed-asks", False, "complete"),
    ("a-never", False, "estimated"),
    ("a-never", True, "complete"),
    ("a-free", False, "partial"),
]


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
