"""The request table: the specification's rows, and those that Envoy has a part in, on a real Envoy with two workers.

What else the filter decides by a request is in `tests/golden/cases`.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Optional

import pytest
from e2e.request_table import cases_envoy
from e2e.request_table import cases_spec
from e2e.request_table.documents import KEYS
from e2e.request_table.rows import bearer, messages, responses, x_api_key
from e2e.request_table.table import Caller, Case, Headers, Reply, check


CASES = [
    *cases_spec.CASES,
    *cases_envoy.CASES,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_row(case: Case, table: Caller) -> None:
    check(case, table)


@pytest.mark.parametrize("case", cases_envoy.SAMPLE_CASES, ids=lambda case: case.name)
def test_row_of_the_sample_document(case: Case, sample: Caller) -> None:
    check(case, sample)


def test_names_are_unique() -> None:
    twice = [name for name, times in Counter(case.name for case in CASES).items() if times > 1]
    assert not twice


# ---- Rows that need more than a status and a body

UPGRADES = [
    ("responses", "/v1/responses", bearer("key_a")),
    ("responses-without-a-key", "/v1/responses", ()),
    ("responses-alias", "/responses", bearer("key_a")),
    ("realtime", "/v1/realtime?model=gpt-realtime", bearer("key_a")),
]


@pytest.mark.parametrize(("name", "target", "headers"), UPGRADES, ids=[row[0] for row in UPGRADES])
def test_websockets_are_not_spoken(name: str, target: str, headers: Headers, table: Caller) -> None:
    """426, whoever asks: agents answer it with one plain POST."""
    upgrade: Headers = (
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "4rLxcb0J5/W1V4aHRF3rpw=="),
    )
    reply = table.send("GET", target, (*headers, *upgrade))
    check_refused_426(name, reply)
    assert table.seen(reply) == [], name


def check_refused_426(name: str, reply: Reply) -> None:
    assert reply.status == 426, f"{name}: {reply.status} {reply.body!r}"
    assert reply.header("x-trilane-error") == "upgrade_required", name
    assert reply.header("x-should-retry") == "false", name
    assert reply.header("x-request-id"), name
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}, name
    assert (error["type"], error["code"]) == ("invalid_request_error", "upgrade_required"), name


HEADS = [
    ("healthz", "/healthz", (), 200, None),
    ("healthz-query", "/healthz?x=1", (), 200, None),
    ("root", "/", (), 404, "not_found"),
    ("api-hello", "/api/hello", (), 404, "not_found"),
    ("models", "/v1/models", bearer("key_a"), 405, "method_not_allowed"),
    ("messages", "/v1/messages", x_api_key("key_b"), 405, "method_not_allowed"),
]


@pytest.mark.parametrize(("name", "target", "headers", "status", "code"), HEADS, ids=[row[0] for row in HEADS])
def test_head(name: str, target: str, headers: Headers, status: int, code: Optional[str], table: Caller) -> None:
    """An answer to HEAD has no body, and says no less in its head."""
    reply = table.send("HEAD", target, headers)
    assert (reply.status, reply.body) == (status, b""), name
    assert reply.header("x-trilane-error") == code, name
    assert reply.header("content-type") == "application/json", name
    assert reply.header("x-request-id"), name
    assert table.seen(reply) == [], name


def test_health(table: Caller) -> None:
    reply = table.send("GET", "/healthz")
    assert (reply.status, reply.json()) == (200, {"status": "ok"})
    assert table.send("GET", "/healthz/").status == 404
    assert table.send("GET", "/HEALTHZ").status == 404


def test_an_answer_of_the_upstream_passes_untouched(table: Caller) -> None:
    """An error that is the client's to read arrives with the upstream's own words, and its `retry-after`."""
    for status in (400, 404, 429, 500, 529):
        headers = (*x_api_key("key_b"), ("x-sim-status", str(status)), ("x-sim-retry-after", "17"))
        reply = table.send("POST", "/v1/messages", headers, messages())
        assert reply.status == status
        assert reply.header("x-trilane-error") is None, status
        assert reply.header("retry-after") == "17", status
        assert reply.header("x-sim-upstream") == "b_official", status
        assert reply.json()["type"] == "error", status


def test_both_workers_decide_alike(table: Caller) -> None:
    """Connections spread over the workers: the same question gets the same answer on a dozen of them, interleaved."""
    questions = [
        (bearer("key_a"), 200),
        (bearer("unknown"), 401),
        (bearer("key_b"), 403),
        (bearer("key_expired"), 401),
    ]
    connections = [table.connect() for _ in range(12)]
    try:
        for headers, want in questions:
            for number, connection in enumerate(connections):
                connection.request("POST", "/v1/responses", body=responses(), headers={k: str(v) for k, v in headers})
                response = connection.getresponse()
                response.read()
                assert response.status == want, f"connection {number}"
    finally:
        for connection in connections:
            connection.close()


def test_no_key_stands_in_any_file(table: Caller) -> None:
    """Neither a good key nor a wrong one, wherever it was sent, is written down: not in a log, not in the document."""
    secret = "trilane-test-a-secret-sent-by-mistake"
    places: list[tuple[str, Headers]] = [
        ("/v1/responses", (("authorization", f"Bearer {secret}"),)),
        (f"/v1/responses?key={secret}", (*bearer("key_a"), ("x-api-key", secret), ("x-goog-api-key", secret))),
        (f"/v1beta/models/gemini-2.5-flash:generateContent?key={secret}", ()),
        (f"/v1beta/models/gemini-2.5-flash:generateContent?key={KEYS['key_c']}", ()),
    ]
    replies = [table.send("POST", target, headers, responses()) for target, headers in places]
    stack = table.stack
    deadline = time.monotonic() + 20
    while not all((reply.header("x-request-id") or "?") in stack.access_log.read_text() for reply in replies):
        assert time.monotonic() < deadline, "the requests are not in the access log"
        time.sleep(0.1)
    for file in (stack.access_log, stack.envoy_log, stack.simulator_log, stack.envoy_yaml, stack.document_path):
        text = file.read_text(errors="replace")
        for value in (secret, *KEYS.values()):
            assert value not in text, f"a key stands in {file.name}"
