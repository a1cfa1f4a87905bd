"""Whatever stands in a request or in an answer, each line stays one JSON object, and says no more than it should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Optional, Union
from urllib.parse import quote

import pytest
from e2e.ledger.crafted_upstream import CraftedUpstream
from e2e.ledger.estimates import text_tokens
from e2e.ledger.ledger_calls import charge, kinds_of, prices_of, route_of
from e2e.ledger.ledger_desk import WIRES, Desk, Sent
from e2e.ledger_reader import Record
from e2e.raw import Http1, Http2

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
#: Longest name that a record repeats, in characters.
LONGEST = 128
#: Longest event that is held because it may be the one that nobody asked for, in bytes.
LONGEST_HELD = 8192
#: Longest path that a record repeats, in characters.
LONGEST_PATH = 256

NAMES = {
    "quotes": 'gpt-5.1","trilane.charge":"0","x":"',
    "backslashes": "gpt\\\\5.1\\",
    "line ends": "gpt\n{}\r\n\u2028\u2029\x85",
    "control characters": "".join(map(chr, range(32))) + "\x7f",
    "format operators": "%REQ(AUTHORIZATION)%%PROTOCOL%",
    "other scripts": "模型-модель-🤖",
    "wide, at the limit": "🤖" * 127 + "é" * 2,
    "combining": "e\u0301" * 90,
    "at the limit": "m" * LONGEST,
    "over the limit": "m" * (LONGEST + 1),
    "10 kB": "m" * 10_000,
    "10 kB of quotes": '"\\' * 5_000,
    "not quite": "gpt-5.1 ",
    "a label": "x;group=y;model=z;",
    "a prototype": "__proto__",
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", NAMES)
def test_model_names(desk: Desk, name: str, wire: str) -> None:
    model = NAMES[name]
    for group, path in (("a", CHAT), ("b", MESSAGES)):
        for ascii_only in (True, False):
            body = json.dumps({"model": model, "messages": []}, ensure_ascii=ascii_only).encode()
            exchange = desk.send(group, path, body, wire=wire)
            record = exchange.record()
            if any(ord(letter) < 32 for letter in model):
                assert (exchange.status, record["error.type"]) == (400, "invalid_body"), record
                assert "gen_ai.request.model" not in record, record
            else:
                assert (exchange.status, record["error.type"]) == (404, "model_not_found"), record
                found = record["gen_ai.request.model"]
                # Of a name in a wide script fewer characters are kept.
                assert found == model[: len(found)] and len(found) <= LONGEST, record
                assert len(found) == min(len(model), LONGEST) or len(found.encode()) > 250, record
            assert record["trilane.usage.status"] == "none", record
            assert "trilane.model" not in record and "trilane.charge" not in record, record


@pytest.mark.parametrize("name", NAMES)
def test_model_names_in_paths(desk: Desk, name: str) -> None:
    model = NAMES[name]
    exchange = desk.send("c", f"/v1beta/models/{quote(model, safe='')}:generateContent", {"contents": []})
    if any(refused in exchange.post.path for refused in ("%5C", "%2F", "%00")):
        assert exchange.status == 400, exchange  # Envoy's, before the filter
        desk.forget(exchange)
        return
    record = exchange.record()
    assert exchange.status in (400, 404), exchange
    path = exchange.post.path
    assert record["url.path"] == (path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH] + "…")
    assert record["trilane.usage.status"] == "none" and "trilane.model" not in record, record
    if exchange.status == 404 and "gen_ai.request.model" in record:
        assert record["gen_ai.request.model"] == model[:LONGEST]


PATHS: dict[str, bytes] = {
    "quotes": b'/v1/"models",{}',
    "a member": b'/v1/x","trilane.outcome":"finished',
    "backslash": b"/v1/chat\\completions",
    "UTF-8": "/v1/模型".encode(),
    "no UTF-8": b"/v1/\xff\xfe\x80",
    "format operators": b"/v1/%REQ(AUTHORIZATION)%",
    "long": b"/v1/" + b"x" * 10_000,
    "delete": b"/v1/\x7f",
    "query": b"/v1/nothing?key=secret-in-the-query",
    "angle brackets": b"/v1/<script>'",
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", PATHS)
def test_paths(desk: Desk, name: str, wire: str) -> None:
    before = len(desk.ledger.now())
    desk.unkeyed += 1
    if wire == "h1":
        with Http1(desk.stack.base_url) as client:
            answer = client.request("GET", PATHS[name])
    else:
        with Http2(desk.stack.base_url) as client2:
            answer = client2.request("GET", PATHS[name])
    # Late lines of others have a key.
    found = desk.ledger.wait(
        lambda: [record for record in desk.ledger.records[before:] if "trilane.key.id" not in record], 1, f"of {name}"
    )
    assert len(found) == 1, found
    record = found[0]
    assert record["http.response.status_code"] == answer.status, (answer, record)
    # Over HTTP/2 a byte that no header may have resets the stream.
    assert 400 <= answer.status < 500 or (answer.reset and "url.path" not in record), (answer, record)
    if "url.path" in record:
        assert record["trilane.outcome"] == "refused" and record["trilane.usage.status"] == "none", record
        assert "?" not in record["url.path"] and "secret" not in record["url.path"], record
    assert b"secret-in-the-query" not in desk.ledger.raw


# ---- Answers

Texts = dict[str, str]
ODD_TEXTS: Texts = {
    "quotes": 'id","trilane.charge":"0","x":"',
    "backslashes": "\\\\\\",
    "line ends": "a\nb\r\nc\u2028d",
    "control characters": "".join(map(chr, range(32))),
    "other scripts": "идентификатор-🤖",
    "a surrogate pair": "\U0001f916" * 3,
    "empty": "",
    "1 MB": "x" * (1 << 20),
    "1 MB of quotes": '"' * (1 << 19),
    "format operators": "%FILTER_STATE(wasm.ledger:PLAIN)%",
}


def _chat(
    text: str, usage: str = '{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}', ascii_only: bool = True
) -> bytes:
    odd = json.dumps(text, ensure_ascii=ascii_only)
    return (
        f'{{"id":{odd},"object":"chat.completion","model":{odd},"service_tier":{odd},'
        f'"choices":[{{"index":0,"message":{{}},"finish_reason":{odd}}}],"usage":{usage}}}'
    ).encode()


def _chat_stream(text: str, ascii_only: bool = True, *, usage_event: bool = True) -> bytes:
    odd = json.dumps(text, ensure_ascii=ascii_only)
    chunk = f'{{"id":{odd},"model":{odd},"choices":[{{"index":0,"delta":{{}},"finish_reason":{odd}}}]}}'
    usage = f'{{"id":{odd},"model":{odd},"choices":[],"usage":{{"prompt_tokens":7,"completion_tokens":5}}}}'
    events = [chunk, usage, "[DONE]"] if usage_event else [chunk, "[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()


def _generate(text: str) -> bytes:
    odd = json.dumps(text)
    return (
        f'{{"candidates":[{{"finishReason":{odd}}}],"modelVersion":{odd},"responseId":{odd},'
        '"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5}}'
    ).encode()


def _ask(desk: Desk, crafted: CraftedUpstream, name: str, answer: bytes, *more: str, **how: Any) -> Sent:
    """Sends a request that is answered with these bytes."""
    kind = "text/event-stream" if answer.startswith(b"data:") else "application/json"
    crafted.teach(name, answer, how.pop("content_type", kind), how.pop("status", "200 OK"), *more)
    group, path, body = how.pop("request", ("a-odd", CHAT, {"model": "gpt-5.1", "messages": []}))
    return desk.send(group, path, body, headers=(("x-crafted", name),), **how)


def _short_or_absent(value: Optional[Union[str, list[str]]], text: str, record: Record) -> None:
    """A text is repeated as it is, or left out if it is too long; never cut in two."""
    if isinstance(value, list):
        (value,) = value
    if value is None:
        assert len(text.encode()) > 60 or not text, f"left out: {text!r}"
    else:
        assert value == text, record


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", ODD_TEXTS)
def test_texts_of_answers(desk: Desk, crafted: CraftedUpstream, name: str, wire: str) -> None:
    text = ODD_TEXTS[name]
    body: dict[str, Any] = {"model": "gpt-5.1", "stream": True, "messages": []}
    stream = {"request": ("a-odd", CHAT, body)}
    asking = {"request": ("a-odd", CHAT, {**body, "stream_options": {"include_usage": True}})}
    native: dict[str, Any] = {
        "request": ("c-odd", "/v1beta/models/gemini-2.5-flash:generateContent", {"contents": []})
    }
    # An event that is too long to be the one that nobody asked for is never held.
    unheld = len(text) > LONGEST_HELD
    forms: list[tuple[bytes, bytes, dict[str, Any]]] = [
        (_chat(text), _chat(text), {}),
        (_chat(text, ascii_only=False), _chat(text, ascii_only=False), {}),
        (_chat_stream(text), _chat_stream(text, usage_event=unheld), stream),
        (_chat_stream(text, ascii_only=False), _chat_stream(text, ascii_only=False, usage_event=unheld), stream),
        (_chat_stream(text), _chat_stream(text), asking),
        (_generate(text), _generate(text), native),
    ]
    for number, (answer, wanted, how) in enumerate(forms):
        exchange = _ask(desk, crafted, f"{quote(name)}-{wire}-{number}", answer, wire=wire, **how)
        assert exchange.answer and exchange.answer.complete and exchange.answer.body == wanted, exchange
        record = exchange.record()
        assert record["http.response.body.size"] == len(wanted), record
        assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("finished", "complete"), record
        assert (record["gen_ai.usage.input_tokens"], record["gen_ai.usage.output_tokens"]) == (7, 5), record
        for member in ("id", "model", "finish_reasons"):
            _short_or_absent(record.get(f"gen_ai.response.{member}"), text, record)
        assert len(json.dumps(record)) < 4096, "a line of bounded length"


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_errors_of_answers(desk: Desk, crafted: CraftedUpstream, name: str) -> None:
    text = ODD_TEXTS[name]
    error = json.dumps({"error": {"message": text, "type": text, "code": text}}).encode()
    for number, status in enumerate(("400 Bad Request", "500 Internal Server Error")):
        exchange = _ask(desk, crafted, f"error-{quote(name)}-{number}", error, status=status)
        assert exchange.answer and exchange.answer.body == error, exchange
        record = exchange.record()
        assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("upstream_error", "failed"), record
        assert record["error.type"] in (text, "error"), record
        assert text not in ("quotes", "line ends") or record["error.type"] == text


#: Usage objects that are wrong or odd, and what is read of prompt and completion.
USAGES: dict[str, tuple[str, Optional[tuple[int, int]]]] = {
    "more than any answer comes to": ('{"prompt_tokens":9007199254740993,"completion_tokens":9007199254740993}', None),
    "nothing": ("{}", None),
    "null": ("null", None),
    "text": ('"7"', None),
    "an array": ("[7,5]", None),
    "twice": ('{"prompt_tokens":1,"prompt_tokens":7,"completion_tokens":5}', (7, 5)),
    "spaces": ('{ "prompt_tokens" : 7 ,\r\n\t"completion_tokens" : 5 }', (7, 5)),
    "escaped names": ('{"prompt\\u005ftokens":7,"completion_tokens":5}', (7, 5)),
    "parts beyond the total": (
        '{"prompt_tokens":7,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":99}}',
        (7, 5),
    ),
}


#: Groups of one upstream: what is not reported is estimated in the one, and free in the other.
ODD_GROUPS = ["a-odd", "a-odd-free"]
PLAIN = {"model": "gpt-5.1", "messages": []}


def _unreported(exchange: Sent, record: Record, written: int) -> None:
    """Nothing was reported; so many bytes of what came back count as written."""
    assert "trilane.usage.reported" not in record, record
    if exchange.group == "a-odd-free":
        assert record["trilane.usage.status"] == "partial" and "gen_ai.usage.input_tokens" not in record, record
        assert "trilane.charge" not in record, record
        return
    assert record["trilane.usage.status"] == "estimated", record
    _used(exchange, record, text_tokens(len(exchange.post.body or b"")), text_tokens(written))
    assert record["trilane.estimated.input_tokens"] == record["gen_ai.usage.input_tokens"], record
    assert record.get("trilane.estimated.output_tokens", 0) == record["gen_ai.usage.output_tokens"], record


def _used(exchange: Sent, record: Record, read: int, written: int) -> None:
    """So many tokens, and what they cost."""
    assert (record["gen_ai.usage.input_tokens"], record["gen_ai.usage.output_tokens"]) == (read, written), record
    source, multiplier = route_of(exchange.group, "A")
    prices = prices_of(source, record["trilane.model"])
    assert prices and record["trilane.charge"] == charge(kinds_of(record) or {}, prices, multiplier), record


@pytest.mark.parametrize("group", ODD_GROUPS)
@pytest.mark.parametrize("name", USAGES)
def test_usage_that_is_odd(desk: Desk, crafted: CraftedUpstream, name: str, group: str) -> None:
    usage, read = USAGES[name]
    answer = _chat("ok", usage)
    exchange = _ask(desk, crafted, f"usage-{quote(name)}", answer, request=(group, CHAT, PLAIN))
    assert exchange.answer and exchange.answer.body == answer, exchange
    record = exchange.record()
    if read is None:
        _unreported(exchange, record, 0)
    else:
        found = (record["gen_ai.usage.input_tokens"], record["gen_ai.usage.output_tokens"])
        assert (record["trilane.usage.status"], found) == ("complete", read), record


#: Numbers that no count of tokens can be.
NO_COUNTS = ("-1", "1.5", "18446744073709551616", "9" * 400, '"x"', "true", "null", "[7]", "{}")
#: Numbers that are one in another spelling.
SPELLINGS = {"1e3": 1000, "7.0": 7, '"7"': 7}


@pytest.mark.parametrize("number", NO_COUNTS)
def test_numbers_that_count_nothing(desk: Desk, crafted: CraftedUpstream, number: str) -> None:
    """They never become a number of their own making: they are left out and estimated, and the others stand."""
    answer = _chat("ok", f'{{"prompt_tokens":{number},"completion_tokens":5}}')
    exchange = _ask(desk, crafted, f"number-{number[:30]}".replace('"', "-"), answer)
    assert exchange.answer and exchange.answer.body == answer, exchange
    record = exchange.record()
    assert record["gen_ai.usage.output_tokens"] == 5, record
    assert record["trilane.usage.status"] == "estimated", record
    assert record["gen_ai.usage.input_tokens"] == record["trilane.estimated.input_tokens"] > 0, record


@pytest.mark.parametrize("number", SPELLINGS)
def test_numbers_in_other_spellings(desk: Desk, crafted: CraftedUpstream, number: str) -> None:
    answer = _chat("ok", f'{{"prompt_tokens":{number},"completion_tokens":5}}')
    exchange = _ask(desk, crafted, f"spelled-{number}".replace('"', "-"), answer)
    record = exchange.record()
    found = (record["gen_ai.usage.input_tokens"], record["gen_ai.usage.output_tokens"])
    assert (record["trilane.usage.status"], found) == ("complete", (SPELLINGS[number], 5)), record


def test_amount_beyond_all_digits(desk: Desk, crafted: CraftedUpstream) -> None:
    """The greatest number is recorded; a charge that cannot be exact is not given."""
    most = 10**9
    exchange = _ask(desk, crafted, "most", _chat("ok", f'{{"prompt_tokens":{most},"completion_tokens":{most}}}'))
    record = exchange.record()
    assert record["gen_ai.usage.input_tokens"] == record["gen_ai.usage.output_tokens"] == most, record
    source, multiplier = route_of("a-odd", "A")
    prices = prices_of(source, "gpt-5.1")
    assert prices
    exact = charge({"input": most, "output": most}, prices, multiplier)
    assert record.get("trilane.charge") in (None, exact), record


#: What is read of an answer: all, in good order; numbers, but not its end; that nothing was made; nothing, and so many bytes count as written.
ALL_TOLD, CUT, VOID = "all", "cut", "void"
_TOLD = b'{"usage":{"prompt_tokens":7,"completion_tokens":5}}'


def _junk() -> Iterator[tuple[str, bytes, Union[str, int]]]:
    yield (
        "no UTF-8",
        b'{"id":"\xff\xfe\x80","model":"\xc3\x28","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}}',
        ALL_TOLD,
    )
    yield (
        "a lone surrogate",
        b'{"id":"\\ud800","model":"a\\udc00b","usage":{"prompt_tokens":7,"completion_tokens":5}}',
        ALL_TOLD,
    )
    page = b'<html>"quoted" \\ upstream is busy</html>'
    yield "no JSON", page, len(page)
    yield "nothing", b"", VOID
    yield "a bare string", b'"usage"', 7
    yield "an array of an answer", b"[" + _TOLD + b"]", CUT
    yield (
        "deep",
        b'{"x":' + b"[" * 5000 + b"]" * 5000 + b',"usage":{"prompt_tokens":7,"completion_tokens":5}}',
        ALL_TOLD,
    )
    yield "something behind", _TOLD + b' {"usage":{"prompt_tokens":1}}', CUT
    yield "zero bytes", b"\0" * 1000, 1000
    # A stream is read by its events, and there is none.
    yield "data without an end", b"data: " + b"x" * 200_000, VOID


JUNK = {name: (body, told) for name, body, told in _junk()}


@pytest.mark.parametrize("group", ODD_GROUPS)
@pytest.mark.parametrize("name", JUNK)
def test_answers_that_are_odd(desk: Desk, crafted: CraftedUpstream, name: str, group: str) -> None:
    body, told = JUNK[name]
    exchange = _ask(desk, crafted, f"junk-{quote(name)}", body, request=(group, CHAT, PLAIN))
    assert exchange.answer and exchange.answer.complete and exchange.answer.body == body, exchange
    record = exchange.record()
    if isinstance(told, int):
        assert record["trilane.outcome"] == "truncated", record
        _unreported(exchange, record, told)
        return
    if told == VOID:
        assert record["trilane.usage.status"] == "failed" and "trilane.charge" not in record, record
        return
    assert record["trilane.usage.reported"] == {"prompt_tokens": 7, "completion_tokens": 5}, record
    if told == ALL_TOLD:
        assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("finished", "complete"), record
        _used(exchange, record, 7, 5)
    elif group == "a-odd-free":
        assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("truncated", "partial"), record
        _used(exchange, record, 7, 5)
    else:
        assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("truncated", "estimated"), record
        read = text_tokens(len(exchange.post.body or b""))
        assert read > 7
        _used(exchange, record, read, 5)
        assert record["trilane.estimated.input_tokens"] == read - 7, record
        assert "trilane.estimated.output_tokens" not in record, record


IDENTITIES = ['"quoted"', "back\\slash", "x" * 8000, "a,b", "{}"]


@pytest.mark.parametrize("identity", IDENTITIES)
def test_ids_of_answers(desk: Desk, crafted: CraftedUpstream, identity: str) -> None:
    name = f"identity-{IDENTITIES.index(identity)}"
    exchange = _ask(desk, crafted, name, _chat("ok"), f"x-request-id: {identity}")
    assert exchange.answer and exchange.answer.header("x-request-id") == identity, exchange
    record = exchange.record()
    value = record.get("trilane.upstream_request_id")
    assert value is None or identity.startswith(value), record
    assert record["trilane.usage.status"] == "complete", record
