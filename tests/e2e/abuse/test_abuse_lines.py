"""The ledger's line of a hostile request is short, whatever the request is."""

from __future__ import annotations

import pytest
from e2e.abuse.abuse_desk import LONGEST_LINE, Desk
from e2e.ledger_reader import Record
from e2e.raw import Header, Http1, Http2

#: What fits into the head that Envoy takes.
LONG = 55_000
#: Name -> method, target, headers. None has a key.
REQUESTS: dict[str, tuple[bytes, bytes, list[Header]]] = {
    "a long path": (b"GET", b"/v1/" + b"x" * LONG, []),
    "a long path of quotes": (b"GET", b"/v1/" + b'"' * LONG, []),
    "a long path of backslashes, encoded": (b"GET", b"/v1/" + b"%22" * (LONG // 3), []),
    "a long path of wide characters": (b"GET", "/v1/".encode() + "模".encode() * (LONG // 3), []),
    "a long path that is no UTF-8": (b"GET", b"/v1/" + b"\xff" * LONG, []),
    "a long path of deletes": (b"GET", b"/v1/" + b"\x7f" * LONG, []),
    "a long query": (b"GET", b"/v1/models?" + b"x" * LONG, []),
    "a long model": (b"POST", b"/v1beta/models/" + b"m" * LONG + b":generateContent", []),
    "a long method": (b"X" * LONG, b"/v1/models", []),
    "a long id": (b"GET", b"/v1/models", [("x-request-id", "i" * LONG)]),
    "a long host": (b"GET", b"/v1/models", [("x-forwarded-for", "9" * LONG)]),
    "a long agent": (b"GET", b"/v1/models", [("user-agent", '"' * LONG)]),
    "a long key": (b"GET", b"/v1/models", [("authorization", "Bearer " + "k" * LONG)]),
    "a long trace": (b"GET", b"/v1/models", [("traceparent", "0" * LONG), ("x-b3-traceid", "0" * LONG)]),
}


def lines(desk: Desk, before: int, count: int) -> list[bytes]:
    """The lines that came since there were `before`, once there are `count` of them."""

    def found() -> list[Record]:
        return desk.ledger.records[before:]

    desk.ledger.wait(found, count, "since")
    return desk.ledger.raw.splitlines()[before:]


@pytest.mark.parametrize("wire", ["h1", "h2"])
@pytest.mark.parametrize("name", REQUESTS)
def test_without_a_key(desk: Desk, name: str, wire: str) -> None:
    method, target, headers = REQUESTS[name]
    before = len(desk.ledger.now())
    if wire == "h1":
        with Http1(desk.stack.base_url) as client:
            client.request(method, target, headers)
    else:
        with Http2(desk.stack.base_url) as client2:
            client2.request(method, target, headers)
    for line in lines(desk, before, 1):
        assert len(line) < LONGEST_LINE, f"{name}: {len(line)} bytes: {line[:300]!r}"
