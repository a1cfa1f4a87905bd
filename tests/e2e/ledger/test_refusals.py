"""What makes nothing leaves its record too: refusals, lists, counts, and what Envoy refuses before the filter."""

from __future__ import annotations

import dataclasses
import gzip
import json
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Optional

import pytest
from e2e.ledger.ledger_desk import WIRES, Desk, Sent
from e2e.ledger.ledger_document import MAX_BODY, SECRET
from e2e.ledger_reader import ENVOYS, Record, members
from e2e.raw import Header, Http1, Http2

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
FLASH = "/v1beta/models/gemini-2.5-flash"
GOOD = {"model": "gpt-5.1", "messages": []}
GOOD_B = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": []}
#: Members of a request whose way was found.
SOURCE = {
    "A": {
        "trilane.source": "a",
        "trilane.entry": "responses",
        "trilane.cluster": "a_official",
        "trilane.multiplier": "0.2000",
    },
    "B": {
        "trilane.source": "b",
        "trilane.entry": "vb_messages",
        "trilane.cluster": "b_official",
        "trilane.multiplier": "2.0000",
    },
    "C": {
        "trilane.source": "c",
        "trilane.entry": "vc_generate_content",
        "trilane.cluster": "c_official",
        "trilane.multiplier": "0.7500",
    },
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A request of which nothing is made, and all that its record says beside method, path, outcome and status."""

    path: str
    body: Any
    status: int
    outcome: str
    error: Optional[str]
    members: Record
    group: str = "a"
    method: Optional[str] = None
    headers: tuple[Header, ...] = ()
    credential: Optional[tuple[Header, ...]] = None
    sim: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Whether the key was found: its id then stands in the record.
    known: bool = True


def _len(body: Any) -> int:
    return len(body if isinstance(body, bytes) else json.dumps(body).encode())


def _routed(protocol: str, endpoint: str, size: int, **more: Any) -> Record:
    """What stands in the record once the group was found to serve the request."""
    operation = {"A": "chat", "B": "chat", "C": "generate_content"}[protocol]
    found: Record = {
        "trilane.endpoint": endpoint,
        "trilane.protocol": protocol,
        **SOURCE[protocol],
        "gen_ai.operation.name": operation,
        "trilane.stream": False,
        "http.request.body.size": size,
        "http.response.body.size": 0,
    }
    return {**found, **more}


def _plain(protocol: Optional[str], endpoint: Optional[str]) -> Record:
    found: Record = {"trilane.protocol": protocol, "trilane.endpoint": endpoint, "http.request.body.size": 0}
    return {name: value for name, value in found.items() if value is not None}


LOCKED = {**GOOD, "model": "gpt-locked"}
UNKNOWN = {**GOOD, "model": "gpt-nobody-has"}
TWICE = b'{"model":"gpt-5.1","messages":[],"model":"gpt-5.1"}'
BROKEN = b'{"model":"gpt-5.1","messages":[}'
C_BODY: Record = {"contents": []}

CASES = {
    "no key": Case(
        CHAT, GOOD, 401, "refused", "invalid_api_key", _plain("A", "chat_completions"), credential=(), known=False
    ),
    "wrong key": Case(
        CHAT,
        GOOD,
        401,
        "refused",
        "invalid_api_key",
        _plain("A", "chat_completions"),
        credential=(("authorization", f"Bearer sk-{SECRET}-wrong"),),
        known=False,
    ),
    "no key, B": Case(
        MESSAGES, GOOD_B, 401, "refused", "invalid_api_key", _plain("B", "messages"), credential=(), known=False
    ),
    "no key, C": Case(
        f"{FLASH}:generateContent?key={SECRET}",
        C_BODY,
        401,
        "refused",
        "invalid_api_key",
        _plain("C", "generateContent"),
        credential=(),
        known=False,
    ),
    "good key in another header": Case(
        CHAT,
        GOOD,
        401,
        "refused",
        "invalid_api_key",
        {**_plain("A", "chat_completions"), "trilane.key.found_in": "x-api-key"},
        credential=(("x-api-key", "{key}"),),
    ),
    "good key as bearer, strict B": Case(
        MESSAGES,
        GOOD_B,
        401,
        "refused",
        "invalid_api_key",
        {**_plain("B", "messages"), "trilane.key.found_in": "authorization"},
        group="b",
        credential=(("authorization", "Bearer {key}"),),
    ),
    "wrong key in another header": Case(
        CHAT,
        GOOD,
        401,
        "refused",
        "invalid_api_key",
        _plain("A", "chat_completions"),
        credential=(("x-api-key", f"sk-{SECRET}-wrong"),),
        known=False,
    ),
    "good key of a strict group, without /v1": Case(
        "/messages",
        GOOD_B,
        404,
        "refused",
        "not_found",
        _plain("B", "messages"),
        group="b",
        credential=(("x-api-key", "{key}"), ("anthropic-version", "2023-06-01")),
    ),
    "not served here": Case("/v1/embeddings", GOOD, 404, "refused", "not_found", _plain("A", None), known=False),
    "no key, list": Case(
        "/v1/models", None, 401, "refused", "invalid_api_key", _plain(None, "models"), credential=(), known=False
    ),
    "no such path": Case("/v2/nothing", GOOD, 404, "refused", "not_found", _plain(None, None), known=False),
    "doubled version": Case("/v1/v1/messages", GOOD_B, 404, "refused", "not_found", _plain("B", None), known=False),
    "wrong method": Case(CHAT, None, 405, "refused", "method_not_allowed", _plain("A", None), known=False),
    "wrong method, C": Case(
        f"{FLASH}:generateContent", None, 405, "refused", "method_not_allowed", _plain("C", None), known=False
    ),
    "another protocol": Case(MESSAGES, GOOD_B, 403, "refused", "protocol_not_allowed", _plain("B", "messages")),
    "another protocol, C": Case(
        CHAT, GOOD, 403, "refused", "protocol_not_allowed", _plain("A", "chat_completions"), group="c"
    ),
    "no version": Case(
        MESSAGES,
        GOOD_B,
        400,
        "refused",
        "invalid_version",
        _plain("B", "messages"),
        group="b",
        credential=(("x-api-key", "{key}"),),
    ),
    "no images": Case(
        "/v1/images/generations",
        {"model": "gpt-image-1"},
        404,
        "refused",
        "images_not_supported",
        _plain("A", "images_generations"),
        group="a-asks",
    ),
    "no counting": Case(
        "/v1/messages/count_tokens",
        GOOD_B,
        404,
        "refused",
        "count_tokens_not_supported",
        _plain("B", "count_tokens"),
        group="b-low",
    ),
    "v1 path of C": Case(
        "/v1/models/gemini-2.5-flash:generateContent",
        C_BODY,
        404,
        "refused",
        "not_found",
        _plain("C", "generateContent"),
        group="c",
        credential=(("x-goog-api-key", "{key}"),),
    ),
    "account resource": Case(
        "/v1beta/files", None, 404, "refused", "not_found", _plain("C", "account_resource"), group="c"
    ),
    "unknown encoding": Case(
        CHAT,
        b"\x00\x01",
        415,
        "refused",
        "request_body_encoding_unsupported",
        _plain("A", "chat_completions"),
        headers=(("content-encoding", "lzma"),),
    ),
    "too long by its head": Case(
        CHAT, b" " * (MAX_BODY + 1), 413, "refused", "request_too_large", _plain("A", "chat_completions")
    ),
    "no body": Case(CHAT, b"", 400, "refused", "invalid_body", _plain("A", "chat_completions")),
    "broken body": Case(
        CHAT,
        BROKEN,
        400,
        "refused",
        "invalid_body",
        _routed("A", "chat_completions", len(BROKEN)),
    ),
    "model twice": Case(CHAT, TWICE, 400, "refused", "invalid_body", _routed("A", "chat_completions", len(TWICE))),
    "model missing": Case(
        CHAT, b'{"messages":[]}', 400, "refused", "model_missing", _routed("A", "chat_completions", 15)
    ),
    "model unknown": Case(
        CHAT,
        UNKNOWN,
        404,
        "refused",
        "model_not_found",
        _routed("A", "chat_completions", _len(UNKNOWN), **{"gen_ai.request.model": "gpt-nobody-has"}),
    ),
    "model unknown, B": Case(
        MESSAGES,
        {**GOOD_B, "model": "claude-nobody"},
        404,
        "refused",
        "model_not_found",
        _routed(
            "B", "messages", _len({**GOOD_B, "model": "claude-nobody"}), **{"gen_ai.request.model": "claude-nobody"}
        ),
        group="b",
    ),
    "model unknown, C": Case(
        "/v1beta/models/gemini-nobody:generateContent",
        C_BODY,
        404,
        "refused",
        "model_not_found",
        {**_plain("C", "generateContent"), "gen_ai.request.model": "gemini-nobody"},
        group="c",
    ),
    "model of another entry": Case(
        MESSAGES,
        {**GOOD_B, "model": "gpt-5.1"},
        404,
        "refused",
        "model_not_found",
        {
            **_routed("B", "messages", _len({**GOOD_B, "model": "gpt-5.1"}), **{"gen_ai.request.model": "gpt-5.1"}),
            "trilane.multiplier": "3.0000",
        },
        group="mixed",
    ),
    "model not entitled": Case(
        CHAT,
        LOCKED,
        403,
        "refused",
        "model_not_entitled",
        _routed("A", "chat_completions", _len(LOCKED), **{"gen_ai.request.model": "gpt-locked"}),
    ),
    "model mismatch": Case(
        f"{FLASH}:generateContent",
        {**C_BODY, "model": "gemini-2.5-pro"},
        400,
        "refused",
        "model_mismatch",
        _routed(
            "C",
            "generateContent",
            _len({**C_BODY, "model": "gemini-2.5-pro"}),
            **{
                "gen_ai.request.model": "gemini-2.5-flash",
                "trilane.model": "gemini-2.5-flash",
                "trilane.upstream_model": "gemini-2.5-flash",
            },
        ),
        group="c",
    ),
    "list": Case("/v1/models", None, 200, "answered", None, _plain("A", "models")),
    "one of the list": Case("/v1/models/gpt-5.1", None, 200, "answered", None, _plain("A", "model")),
    "one not in the list": Case(
        "/v1/models/gpt-nobody-has",
        None,
        404,
        "refused",
        "model_not_found",
        {**_plain("A", "model"), "gen_ai.request.model": "gpt-nobody-has"},
    ),
    "list, B": Case(
        "/v1/models",
        None,
        200,
        "answered",
        None,
        _plain("B", "models"),
        group="b",
        credential=(("x-api-key", "{key}"), ("anthropic-version", "2023-06-01")),
    ),
    "list, C": Case("/v1beta/models?pageSize=2", None, 200, "answered", None, _plain("C", "models"), group="c"),
    "bad page": Case("/v1/models?limit=none", None, 400, "refused", "invalid_parameter", _plain("A", "models")),
    "health": Case("/healthz", None, 200, "answered", None, _plain(None, "healthz"), credential=(), known=False),
}

#: Answered upstream, yet nothing is made.
COUNTS = {
    "count, B": Case(
        "/v1/messages/count_tokens",
        GOOD_B,
        200,
        "finished",
        None,
        {
            "trilane.endpoint": "count_tokens",
            "trilane.protocol": "B",
            **SOURCE["B"],
            "gen_ai.request.model": "claude-opus-4-5",
            "trilane.model": "claude-opus-4-5",
            "trilane.upstream_model": "claude-opus-4-5-20251101",
            "http.request.body.size": _len(GOOD_B),
        },
        group="b",
    ),
    "count, C": Case(
        f"{FLASH}:countTokens",
        C_BODY,
        200,
        "finished",
        None,
        {
            "trilane.endpoint": "countTokens",
            "trilane.protocol": "C",
            **SOURCE["C"],
            "gen_ai.request.model": "gemini-2.5-flash",
            "trilane.model": "gemini-2.5-flash",
            "trilane.upstream_model": "gemini-2.5-flash",
            "http.request.body.size": _len(C_BODY),
        },
        group="c",
    ),
}
ALL = {**CASES, **COUNTS}
PAIRS = [(name, wire) for name in ALL for wire in WIRES]


@pytest.fixture(scope="module")
def sent(desk: Desk, pool: ThreadPoolExecutor) -> dict[tuple[str, str], Future[Sent]]:
    def send(name: str, wire: str) -> Sent:
        case = ALL[name]
        return desk.send(
            case.group,
            case.path,
            case.body,
            wire=wire,
            method=case.method,
            headers=case.headers,
            credential=case.credential,
            sim=case.sim,
        )

    return {(name, wire): pool.submit(send, name, wire) for name, wire in PAIRS}


@pytest.mark.parametrize(("name", "wire"), PAIRS)
def test_nothing_made(desk: Desk, sent: dict[tuple[str, str], Future[Sent]], name: str, wire: str) -> None:
    case = ALL[name]
    exchange = sent[name, wire].result(timeout=60)
    assert exchange.status == case.status, exchange
    answer = exchange.answer
    assert answer
    identity = answer.header("x-request-id")
    found = desk.ledger.find({"trilane.upstream_request_id" if name in COUNTS else "request_id": identity})
    assert len(found) == 1, found
    record = found[0]
    if case.known:
        assert exchange.records() == [record]
    else:
        assert "trilane.key.id" not in record and "trilane.group" not in record
        desk.forget(exchange)
    expected: Record = {
        "http.request.method": exchange.post.method,
        "url.path": case.path.partition("?")[0],
        "trilane.outcome": case.outcome,
        "trilane.usage.status": "none",
        **case.members,
    }
    if case.error:
        expected["error.type"] = case.error
    if case.known:
        expected |= {"trilane.key.id": exchange.key, "trilane.group": exchange.group}
    if name in COUNTS:
        expected["trilane.upstream_request_id"] = identity
    assert members(record) == expected
    assert record["http.response.status_code"] == case.status
    assert not any("usage." in member and member != "trilane.usage.status" for member in record), record


def test_too_long_on_its_way(desk: Desk) -> None:
    """Its head does not say how long it is."""
    body = b'{"model":"gpt-5.1","messages":["' + b"x" * (MAX_BODY + 1)

    def act(sent: Sent, client: Any) -> Any:
        client.post(sent.post)
        return client.rest()

    exchange = desk.send("a", CHAT, body, wire="h2", length=False, act=act)
    assert exchange.status == 413, exchange
    record = exchange.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("refused", "none"), record
    assert record["error.type"] == "request_too_large" and record["http.request.body.size"] > MAX_BODY, record


def test_compressed_request(desk: Desk) -> None:
    """The size is that of the body inflated; Envoy's count is that of what came."""
    body = json.dumps({**GOOD, "messages": [{"role": "user", "content": "hi " * 2000}]}).encode()
    packed = gzip.compress(body)
    exchange = desk.send("a", CHAT, packed, headers=(("content-encoding", "gzip"),))
    assert exchange.status == 200, exchange
    record = exchange.record()
    assert record["http.request.body.size"] == len(body) and record["bytes_received"] == len(packed)
    assert record["trilane.usage.status"] == "complete"


# ---- Before the filter

BEFORE: dict[str, tuple[bytes, int, str]] = {
    "encoded slash": (b"GET /v1/models/a%2Fb HTTP/1.1\r\nhost: x\r\n\r\n", 400, "path_normalization_failed"),
    "headers too large": (
        b"GET /v1/models HTTP/1.1\r\nhost: x\r\nx-big: " + b"x" * 70_000 + b"\r\n\r\n",
        431,
        "http1.headers_too_large",
    ),
    "too many headers": (
        b"GET /v1/models HTTP/1.1\r\nhost: x\r\n" + b"x-many: 1\r\n" * 120 + b"\r\n",
        431,
        "http1.too_many_headers",
    ),
    "HTTP/1.0": (b"GET /v1/models HTTP/1.0\r\n\r\n", 426, "low_version"),
    "WebSocket": (
        b"GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        426,
        "upgrade_failed",
    ),
    "no host": (b"GET /v1/models HTTP/1.1\r\n\r\n", 400, "missing_host_header"),
    "no HTTP": (b'"quoted" \\ {nonsense}\r\n\r\n', 400, "http1.codec_error"),
    "quotes in the path": (b'GET /v1/"quo\\ted"%2f HTTP/1.1\r\nhost: x\r\n\r\n', 400, "path_normalization_failed"),
}


@pytest.mark.parametrize("name", BEFORE)
def test_refused_before_the_filter(desk: Desk, name: str) -> None:
    """The line has Envoy's members, and no others."""
    request, status, details = BEFORE[name]
    earlier = [record for record in desk.ledger.now() if "url.path" not in record]
    with Http1(desk.stack.base_url) as client:
        client.send(request)
        answer = client.answer()
    assert answer.status == status, answer
    desk.unkeyed += 1
    # Lines of other tests may come meanwhile; of those that the filter never saw, only this one.
    found = desk.ledger.wait(
        lambda: [record for record in desk.ledger.records if "url.path" not in record][len(earlier) :], 1, name
    )
    assert len(found) == 1, found
    record = found[0]
    assert set(record) == set(ENVOYS), record
    assert record["http.response.status_code"] == status, record
    assert record["details"].startswith(details), record
    assert record["upstream"] == "", record


def test_reset_before_the_head(desk: Desk) -> None:
    """Over HTTP/2 too large a head resets the stream."""
    earlier = [record for record in desk.ledger.now() if "url.path" not in record]
    with Http2(desk.stack.base_url) as client:
        stream = client.start("GET", "/v1/models", [(f"x-many-{number}", "1") for number in range(120)], end=True)
        answer = client.answer(stream)
    assert answer.status in (0, 431), answer
    desk.unkeyed += 1
    found = desk.ledger.wait(
        lambda: [record for record in desk.ledger.records if "url.path" not in record][len(earlier) :], 1, "HTTP/2"
    )
    assert len(found) == 1 and set(found[0]) == set(ENVOYS), found
