"""Request bodies through a real Envoy: in pieces, too long, and with an end that comes late."""

from __future__ import annotations

import socket
import time
from typing import Any

import h2.connection
import h2.events
import pytest
from e2e.request_table.documents import KEYS, MAX_BODY
from e2e.request_table.rows import bearer, responses
from e2e.request_table.table import Body, Caller, Refused, check_body, check_clean, check_refused


RESPONSES = "/v1/responses"


# ---- Whole and in pieces: what changes is in `tests/golden/cases/body_bytes.txt`

#: A body whose model has another name upstream.
_RENAMED: list[Body] = [
    b'{"input":"x","model":"short"}',
    (b'{"input":"x","model":"sh', b"or", b't"}'),
    (b'{"input":"', *(b"x" * 20_000,) * 14, b'","model":"sh', b'ort"}'),
]


@pytest.mark.parametrize("body", _RENAMED, ids=["whole", "in chunks", "past the window"])
def test_a_rename_changes_one_string(body: Body, table: Caller) -> None:
    entry = table.only(table.send("POST", RESPONSES, bearer("a_rename"), body))
    whole = body if isinstance(body, bytes) else b"".join(body or ())
    check_body("renamed", entry, whole.replace(b'"short"', b'"a-name-that-is-much-longer/upstream:v1"'))
    if isinstance(body, bytes):
        assert "content-length" in dict(entry["headers"]), "whoever is told a length is told the new one"


# ---- Too long by count: nobody said how long it would be

_OVER: dict[str, tuple[bytes, ...]] = {
    "model first": (responses()[:-1] + b',"x":"', *(b"x" * 50_000,) * 7),
    "model never": (b'{"x":"', *(b"x" * 50_000,) * 7),
}


@pytest.mark.parametrize("name", _OVER)
def test_too_long_by_count(name: str, table: Caller) -> None:
    reply = table.send("POST", RESPONSES, bearer("key_a"), _OVER[name])
    check_refused(name, Refused(413, "A", "request_too_large", str(MAX_BODY)), reply)
    for entry in table.seen(reply):
        assert entry["state"] in ("receiving", "request_aborted"), f"{name}: the upstream got all of it"


# ---- The end that comes late

_KEY = [("authorization", f"Bearer {KEYS['key_a']}")]


def test_a_cut_body_never_arrives_whole(table: Caller) -> None:
    """All announced bytes come, and the end of the stream a moment later.

    An upstream that was told the length has the whole request with its last byte. So that byte must not leave before
    the end is known and the document found complete.
    """
    status, marker = _h2_late_end(table, RESPONSES, _KEY, responses()[:-1])
    assert status == "400"
    for entry in table.seen(marker):
        assert entry["state"] in ("receiving", "request_aborted"), f"the upstream got all of it and {entry['state']}"


def test_a_whole_body_whose_end_comes_late_is_forwarded(table: Caller) -> None:
    status, marker = _h2_late_end(table, RESPONSES, _KEY, responses())
    assert status == "200"
    (entry,) = table.seen(marker)
    check_body("late", entry, responses())
    check_clean("late", entry)


def _h2_late_end(caller: Caller, target: str, headers: list[tuple[str, str]], body: bytes) -> tuple[str, str]:
    """Sends `body` with its length and, a moment later, an empty frame that ends the stream."""
    marker = f"late-{time.monotonic_ns()}"
    host, _, port = caller.stack.base_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=15) as connection:
        h2_state = h2.connection.H2Connection()
        h2_state.initiate_connection()
        h2_state.send_headers(
            1,
            [
                (":method", "POST"),
                (":scheme", "http"),
                (":authority", "gateway"),
                (":path", target),
                *headers,
                ("x-sim-marker", marker),
                ("content-length", str(len(body))),
            ],
        )
        h2_state.send_data(1, body)
        connection.sendall(h2_state.data_to_send())
        time.sleep(0.1)  # nothing tells when a frame has been taken: this much is plenty, and harmless if not
        h2_state.end_stream(1)
        connection.sendall(h2_state.data_to_send())
        while True:
            for event in h2_state.receive_data(connection.recv(65536)):
                if isinstance(event, h2.events.ResponseReceived):
                    fields: dict[Any, Any] = dict(event.headers or [])
                    return fields[b":status"].decode(), marker
            connection.sendall(h2_state.data_to_send())
