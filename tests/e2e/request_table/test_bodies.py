"""Request bodies through a real Envoy: the judged corpus, what must stay byte for byte, and the renaming of a model."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import Any

import h2.connection
import h2.events
import pytest
from e2e.request_table.documents import KEYS, MAX_BODY
from e2e.request_table.rows import bearer, chat, messages, responses, x_api_key
from e2e.request_table.table import (
    Body,
    Caller,
    Case,
    Forwarded,
    Headers,
    Refused,
    check,
    check_body,
    check_clean,
    check_refused,
)


RESPONSES = "/v1/responses"


# ---- Byte for byte

_SPACED = b'\r\n\t {\n\t"messages" :\t[ ] ,\r\n  "temperature":1.0e0,"model"  :  "gpt-5.1"  , "z":{ } } \n\n'
_NUMBERS = (
    b'{"a":12345678901234567890123456789012345678901234567890,"b":-0.0,"c":1E400,"d":0.1000000000000000055511151231257827,'
    b'"e":1e-999999,"f":[0,-0,1.0,1.10],"model":"gpt-5.1","seed":9007199254740993}'
)
_ESCAPES = (
    rb'{"messages":[{"role":"user","content":"\u0048\/\u00e9\ud83d\ude00\ud800 \"model\": \"x\" \\"}],'
    rb'"mod\u0065l":"gpt\u002d5.1","\u0001":"\b\f\n\r\t"}'
)
_ORDER = (
    b'{"zz":1,"stream":false,"input":[{"model":"decoy","Model":"decoy"}],"tools":[{"parameters":{"properties":'
    b'{"model":{"type":"string"}},"required":["model"]}}],"aa":2,"model":"gpt-5.1","":0,"b":null}'
)
_NESTED = b'{"input":' + b"[" * 500 + b"]" * 500 + b',"model":"gpt-5.1"}'
_UTF8 = '{"input":"é 漢字 😀 \u2028 \ufeff \u007f","model":"gpt-5.1"}'.encode()
_REPEATED = b'{"input":"x","a":1,"a":2,"streaM":1,"model":"gpt-5.1"}'

EXACT: list[tuple[str, Body]] = [
    ("whitespace", _SPACED),
    ("numbers", _NUMBERS),
    ("escapes", _ESCAPES),
    ("key-order-and-decoys", _ORDER),
    ("nesting-of-500", _NESTED),
    ("raw-utf-8", _UTF8),
    ("other-keys-twice", _REPEATED.replace(b'"streaM":1,', b"")),
    ("model-only", b'{"model":"gpt-5.1"}'),
    ("model-first-then-much", responses(padding="x" * 200_000)),
    (
        "model-last-after-much",
        responses(padding="x" * 200_000).replace(b'"model":"gpt-5.1",', b"")[:-1] + b',"model":"gpt-5.1"}',
    ),
    ("thinking", chat(thinking={"type": "enabled", "budget_tokens": 1024}, unknown_field=[1, {"x": None}])),
    ("chunks-of-one-byte", tuple(bytes([byte]) for byte in _ORDER)),
    ("chunks-of-three-bytes", tuple(_ESCAPES[at : at + 3] for at in range(0, len(_ESCAPES), 3))),
    ("chunks-that-cut-the-name", (b'{"input":"x","model":"gp', b"t-5", b'.1","z":1}')),
    ("chunks-that-cut-the-key", (b'{"input":"x","mo', b"del", b'":"gpt-5.1","z":1}')),
    ("chunks-with-the-model-last", (b'{"input":"', b"x" * 90_000, b'","model":"gpt-5.1"', b"}")),
]


@pytest.mark.parametrize(("name", "body"), EXACT, ids=[name for name, _ in EXACT])
def test_bodies_leave_byte_for_byte(name: str, body: Body, table: Caller) -> None:
    check(Case(f"exact-{name}", "POST", RESPONSES, bearer("a_plain"), body, Forwarded("a_official")), table)


# ---- Renaming: exactly the one string

LONG_UP = "a-name-that-is-much-longer/upstream:v1"
LONG = "a-name-that-is-rather-long-for-its-client"


@dataclass(frozen=True)
class Rename:
    name: str
    body: Body
    want: bytes


RENAMES = [
    Rename("longer", b'{"model":"short","input":"short"}', b'{"model":"%s","input":"short"}' % LONG_UP.encode()),
    Rename("shorter", b'{"model":"%s","input":"x"}' % LONG.encode(), b'{"model":"s","input":"x"}'),
    Rename("same-length", b'{"model":"same-length-1"}', b'{"model":"same-length-2"}'),
    Rename("none", b'{"model":"as-it-is","input":"short"}', b'{"model":"as-it-is","input":"short"}'),
    Rename(
        "around-it-nothing-changes",
        b' {"m":{"model":"short"},\t"model" :  "short" ,"short":1.50,"x":"\\u0041"} \n',
        b' {"m":{"model":"short"},\t"model" :  "%s" ,"short":1.50,"x":"\\u0041"} \n' % LONG_UP.encode(),
    ),
    Rename(
        "escaped", b'{"input":"x","mod\\u0065l":"sh\\u006Frt"}', b'{"input":"x","mod\\u0065l":"%s"}' % LONG_UP.encode()
    ),
    Rename("dated", b'{"model":"dated","input":1}', b'{"model":"dated-2025-01-31","input":1}'),
    Rename("dated-by-the-client", b'{"model":"dated-2024-02-29"}', b'{"model":"dated-2025-01-31"}'),
    Rename("dated-as-upstream", b'{"model":"dated-2025-01-31"}', b'{"model":"dated-2025-01-31"}'),
    Rename(
        "model-last",
        b'{"input":"%s","model":"short"}' % (b"x" * 90_000),
        b'{"input":"%s","model":"%s"}' % (b"x" * 90_000, LONG_UP.encode()),
    ),
    Rename(
        "model-last-past-the-window",
        b'{"input":"%s","model":"short"}' % (b"x" * 280_000),
        b'{"input":"%s","model":"%s"}' % (b"x" * 280_000, LONG_UP.encode()),
    ),
    Rename(
        "model-first-then-much",
        b'{"model":"short","input":"%s"}' % (b"x" * 280_000),
        b'{"model":"%s","input":"%s"}' % (LONG_UP.encode(), b"x" * 280_000),
    ),
    Rename("chunked", (b'{"model":"short",', b'"input":"x"}'), b'{"model":"%s","input":"x"}' % LONG_UP.encode()),
    Rename(
        "chunked-name-cut",
        (b'{"input":"x","model":"sh', b"or", b't","z":1}'),
        b'{"input":"x","model":"%s","z":1}' % LONG_UP.encode(),
    ),
    Rename(
        "chunked-past-the-window",
        (b'{"input":"', *(b"x" * 20_000,) * 14, b'","model":"sh', b'ort"}'),
        b'{"input":"%s","model":"%s"}' % (b"x" * 280_000, LONG_UP.encode()),
    ),
]


def test_the_length_is_right_after_a_rename(table: Caller) -> None:
    """Whoever is told a length is told the new one: `check_body` allows none, here one is demanded."""
    reply = table.send("POST", RESPONSES, bearer("a_rename"), RENAMES[0].body)
    entry = table.only(reply)
    assert dict(entry["headers"]).get("content-length") == str(len(RENAMES[0].want))


# ---- Too long by count: nobody said how long it would be

_OVER: list[tuple[str, str, str, Headers, tuple[bytes, ...]]] = [
    ("a-model-first", "A", RESPONSES, bearer("key_a"), (responses()[:-1] + b',"x":"', *(b"x" * 50_000,) * 7)),
    ("a-model-never", "A", RESPONSES, bearer("key_a"), (b'{"x":"', *(b"x" * 50_000,) * 7)),
    (
        "b-model-last",
        "B",
        "/v1/messages",
        x_api_key("key_b"),
        (b'{"x":"', *(b"x" * 50_000,) * 7, b'","model":"claude-opus-5-5"}'),
    ),
    (
        "c",
        "C",
        "/v1beta/models/gemini-2.5-flash:generateContent",
        (("x-goog-api-key", KEYS["key_c"]),),
        (b'{"x":"', *(b"x" * 50_000,) * 7),
    ),
]


@pytest.mark.parametrize(("name", "shape", "target", "headers", "chunks"), _OVER, ids=[row[0] for row in _OVER])
def test_too_long_by_count(
    name: str, shape: str, target: str, headers: Headers, chunks: tuple[bytes, ...], table: Caller
) -> None:
    reply = table.send("POST", target, headers, chunks)
    check_refused(name, Refused(413, shape, "request_too_large", str(MAX_BODY)), reply)
    for entry in table.seen(reply):
        assert entry["state"] in ("receiving", "request_aborted"), f"{name}: the upstream got all of it"


# ---- The end that comes late

_LATE: list[tuple[str, str, list[tuple[str, str]], bytes]] = [
    ("cut-a", RESPONSES, [("authorization", f"Bearer {KEYS['key_a']}")], responses()[:-1]),
    ("cut-b", "/v1/messages", [("x-api-key", KEYS["key_b"]), ("anthropic-version", "2023-06-01")], messages()[:-1]),
    (
        "cut-c",
        "/v1beta/models/gemini-2.5-flash:generateContent",
        [("x-goog-api-key", KEYS["key_c"])],
        b'{"contents":[]',
    ),
]


@pytest.mark.parametrize(("name", "target", "headers", "body"), _LATE, ids=[row[0] for row in _LATE])
def test_a_cut_body_never_arrives_whole(
    name: str, target: str, headers: list[tuple[str, str]], body: bytes, table: Caller
) -> None:
    """All announced bytes come, and the end of the stream a moment later.

    An upstream that was told the length has the whole request with its last byte. So that byte must not leave before
    the end is known and the document found complete.
    """
    reply_status, marker = _h2_late_end(table, target, headers, body)
    assert reply_status == "400", name
    for entry in table.seen(marker):
        assert entry["state"] in ("receiving", "request_aborted"), (
            f"{name}: the upstream got all of it and {entry['state']}"
        )


@pytest.mark.parametrize("row", [0, 1], ids=["a", "b"])
def test_a_whole_body_whose_end_comes_late_is_forwarded(row: int, table: Caller) -> None:
    name, target, headers, body = _LATE[row]
    status, marker = _h2_late_end(table, target, headers, body + b"}")
    assert status == "200", name
    (entry,) = table.seen(marker)
    check_body(name, entry, body + b"}")
    check_clean(name, entry)


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
