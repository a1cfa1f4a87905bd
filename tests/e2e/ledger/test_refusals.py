"""A request that is not let pass leaves one record, which says so and has no numbers. What each refusal says is in
`tests/golden/cases/refusals.txt`."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from e2e.ledger.ledger_desk import WIRES, Desk, Sent
from e2e.ledger.ledger_document import MAX_BODY
from e2e.ledger_reader import ENVOYS, Record
from e2e.raw import Http1, Http2

CHAT = "/v1/chat/completions"
GOOD: Record = {"model": "gpt-5.1", "messages": [{"role": "user", "content": "hi"}]}
#: Path, body, status, outcome and code; `None`: no body.
CASES: dict[str, tuple[str, Any, int, str, str | None]] = {
    "list": ("/v1/models", None, 200, "answered", None),
    "unknown model": (CHAT, {**GOOD, "model": "gpt-nobody-has"}, 404, "refused", "model_not_found"),
    "broken body": (CHAT, b'{"model":"gpt-5.1","messages":[}', 400, "refused", "invalid_body"),
    "too long by its head": (CHAT, b" " * (MAX_BODY + 1), 413, "refused", "request_too_large"),
    "quotes in the model": (CHAT, {**GOOD, "model": 'gpt","trilane.charge":"0","x":"\n'}, 400, "refused", "invalid_body"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", CASES)
def test_nothing_made(desk: Desk, name: str, wire: str) -> None:
    path, body, status, outcome, code = CASES[name]
    exchange = desk.send("a", path, body, wire=wire)
    assert exchange.status == status and exchange.answer, exchange
    record = exchange.record()
    assert record["request_id"] == exchange.answer.header("x-request-id"), record
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == (outcome, "none"), record
    assert record.get("error.type") == code and record["http.response.status_code"] == status, record
    assert not any("usage." in member and member != "trilane.usage.status" for member in record), record
    assert not exchange.seen()


def test_counting_tokens_makes_nothing(desk: Desk) -> None:
    exchange = desk.send("b", "/v1/messages/count_tokens", {"model": "claude-opus-4-5", "messages": []})
    record = exchange.record()
    assert (exchange.status, record["trilane.outcome"], record["trilane.usage.status"]) == (200, "finished", "none"), record


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
