"""One row of the request table: a request as bytes, and what must come of it at the client and at the upstream.

Requests are written through `http.client`, which sends exactly the headers it is given, in order, repeated
ones too. Expectations are spelled out here from the documentation of the gateway, not from its code.
"""

from __future__ import annotations

import hashlib
import http.client
import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from e2e.request_table.documents import KEYS
from e2e.support import Gateway
from stack import Stack

Headers = tuple[tuple[str, Union[str, bytes]], ...]
#: A body in one piece (sent with its length), or in several (sent chunked).
Body = Union[bytes, tuple[bytes, ...], None]

_markers = itertools.count(1)

#: Headers that may never reach an upstream, whatever the client sent.
NEVER_UPSTREAM = {
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "x-vc-api-key",
    "proxy-authorization",
    "accept-encoding",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-real-ip",
    "forwarded",
}
NEVER_PREFIXES = ("x-trilane-", "x-envoy-", "x-forwarded-")
#: But for the credentials of the sample's own accounts, by the listener that stands for their vendor.
OWN = {
    "a_official": ("authorization", "Bearer simulated-credential-of-a-official-"),
    "b_official": ("x-api-key", "simulated-credential-of-b-official-"),
    "c_official": ("x-goog-api-key", "simulated-credential-of-c-official-"),
}

#: Status -> `error.type` of A, `error.type` of B, `error.status` of C.
VOCABULARY = {
    400: ("invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    401: ("invalid_request_error", "authentication_error", "UNAUTHENTICATED"),
    403: ("invalid_request_error", "permission_error", "PERMISSION_DENIED"),
    404: ("invalid_request_error", "not_found_error", "NOT_FOUND"),
    405: ("invalid_request_error", "invalid_request_error", "UNIMPLEMENTED"),
    413: ("invalid_request_error", "request_too_large", "INVALID_ARGUMENT"),
    415: ("invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    426: ("invalid_request_error", "invalid_request_error", "UNIMPLEMENTED"),
    502: ("server_error", "api_error", "UNAVAILABLE"),
}
#: The codes whose 404 has another type on A.
NOT_FOUND_TYPES = {"images_not_supported", "count_tokens_not_supported"}


@dataclass(frozen=True)
class Reply:
    """An answer as it came."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    marker: str

    def header(self, name: str) -> Optional[str]:
        """The only header of this name, or None; two of them are a fault of the gateway."""
        found = [value for key, value in self.headers if key.lower() == name]
        assert len(found) <= 1, f"{name} occurs {len(found)} times"
        return found[0] if found else None

    def json(self) -> Any:
        return json.loads(self.body)


class Caller:
    """Sends requests exactly as written, and finds them again in the upstream's journal."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self._journal = Gateway(stack)
        self._host, _, port = stack.base_url.removeprefix("http://").partition(":")
        self._port = int(port)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=30)

    def send(self, method: str, target: str, headers: Headers = (), body: Body = None) -> Reply:
        marker = f"t{next(_markers)}"
        connection = self.connect()
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            connection.putheader("x-sim-marker", marker)
            if isinstance(body, bytes):
                connection.putheader("content-length", str(len(body)))
                connection.endheaders(body)
            elif body is None:
                connection.endheaders()
            else:
                connection.putheader("transfer-encoding", "chunked")
                connection.endheaders()
                self._send_chunks(connection, body)
            response = connection.getresponse()
            return Reply(response.status, response.getheaders(), response.read(), marker)
        finally:
            connection.close()

    @staticmethod
    def _send_chunks(connection: http.client.HTTPConnection, chunks: Iterable[bytes]) -> None:
        try:
            for chunk in chunks:
                connection.send(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            connection.send(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before the end, as it may be: the answer is there to read

    def seen(self, reply: Union[Reply, str]) -> list[dict[str, Any]]:
        """What the upstream saw of the request with this answer, or this marker."""
        return self._journal.seen(reply if isinstance(reply, str) else reply.marker)

    def only(self, reply: Reply) -> dict[str, Any]:
        """The one request that the upstream must have seen."""
        entries = self.seen(reply)
        assert len(entries) == 1, f"the upstream saw {len(entries)} requests"
        return entries[0]


@dataclass(frozen=True)
class Forwarded:
    """The request must reach this listener of the upstream, with this target, and nothing of a credential."""

    listener: str
    #: The target as the upstream must see it; None: as the client wrote it.
    target: Optional[str] = None
    #: The body as the upstream must see it; None: byte for byte the client's.
    body: Optional[bytes] = None
    #: Headers that the upstream must see with these values.
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200


@dataclass(frozen=True)
class Refused:
    """The gateway must answer itself, in this shape; the upstream must see nothing, if not said otherwise."""

    status: int
    #: "A", "B", "C": the shape of one protocol; "A*", "B*", "C*": all fields, in one protocol's words;
    #: "E": what Envoy refuses before the filter sees it, in the words of all three.
    shape: str
    code: str
    #: What the message must contain; a leading "=" demands the whole.
    says: str = ""
    #: What it must not contain.
    hides: str = ""
    param: Optional[str] = None
    allow: Optional[str] = None
    #: The listener that the request reached, where it is the upstream's answer that is refused.
    reaches: Optional[str] = None
    #: A server's error that asking again does not mend.
    final: bool = False


@dataclass(frozen=True)
class Listed:
    """The gateway must answer with a list, or one model, of exactly these ids; the upstream must see nothing."""

    #: "shared": the fields of A and B; "C": those of C; "one" and "one-C": a single model.
    shape: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    method: str
    target: str
    headers: Headers
    body: Body
    expect: Union[Forwarded, Refused, Listed]


def check(case: Case, caller: Caller) -> None:
    """Sends the case's request and holds everything it says against what came."""
    reply = caller.send(case.method, case.target, case.headers, case.body)
    if isinstance(case.expect, Forwarded):
        check_forwarded(case, case.expect, reply, caller)
    elif isinstance(case.expect, Listed):
        check_listed(case.name, case.expect, reply, caller)
    else:
        check_refused(case.name, case.expect, reply, caller)


def check_forwarded(case: Case, expect: Forwarded, reply: Reply, caller: Caller) -> None:
    """Holds what the upstream saw against what the client sent."""
    assert reply.status == expect.status, f"{case.name}: {reply.status} {reply.body[:300]!r}"
    assert reply.header("x-sim-upstream") == expect.listener, case.name
    assert reply.header("x-trilane-error") is None, case.name
    assert reply.header("x-request-id"), case.name
    # An error comes from the last account that was asked; each must have been asked the same.
    entries = caller.seen(reply) if expect.status >= 400 else [caller.only(reply)]
    assert entries, case.name
    for entry in entries:
        check_entry(case, expect, entry, caller)


def check_entry(case: Case, expect: Forwarded, entry: dict[str, Any], caller: Caller) -> None:
    """Holds one request to the upstream against what the client sent."""
    assert entry["listener"] == expect.listener, case.name
    assert entry["method"] == case.method, case.name
    assert entry["path"] == (expect.target or case.target), case.name
    sent = b"".join(case.body) if isinstance(case.body, tuple) else (case.body or b"")
    check_body(case.name, entry, sent if expect.body is None else expect.body)
    check_clean(case.name, entry)
    seen = dict(entry["headers"])
    # Its own name in envoy.yaml, and its address in an account's: never the gateway's.
    assert seen["host"] in ("upstream", caller.stack.sims[expect.listener]), f"{case.name}: {seen['host']}"
    for name, value in expect.headers.items():
        assert seen.get(name) == value, f"{case.name}: {name}: {seen.get(name)!r}"


def check_body(name: str, entry: dict[str, Any], want: bytes) -> None:
    """The upstream must have read these bytes, and been told their right length if it was told one."""
    assert entry["body_bytes"] == len(want), f"{name}: {entry['body']!r}"
    assert entry["body_sha256"] == hashlib.sha256(want).hexdigest(), f"{name}: {entry['body']!r}"
    length = dict(entry["headers"]).get("content-length")
    assert length in (None, str(len(want))), f"{name}: content-length {length}"


def check_clean(name: str, entry: dict[str, Any]) -> None:
    """No credential but the account's own, once, and nothing internal may have left the gateway."""
    own_header, own_value = OWN.get(entry["listener"], ("", ""))
    own = [value for header, value in entry["headers"] if header == own_header and value.startswith(own_value)]
    assert len(own) <= 1, f"{name}: {own_header} reached the upstream {len(own)} times"
    for header, value in entry["headers"]:
        assert header not in NEVER_UPSTREAM or value in own, f"{name}: {header} reached the upstream"
        assert not header.startswith(NEVER_PREFIXES), f"{name}: {header} reached the upstream"
        for key, secret in KEYS.items():
            assert secret not in value, f"{name}: {key} reached the upstream in {header}"
    for key, secret in KEYS.items():
        assert secret not in entry["path"], f"{name}: {key} reached the upstream in the path"


def check_refused(name: str, expect: Refused, reply: Reply, caller: Optional[Caller] = None) -> None:
    """Holds an error of the gateway against the documented shape."""
    text = reply.body.decode()
    assert reply.status == expect.status, f"{name}: {reply.status} {text[:300]}"
    assert reply.header("content-type") == "application/json", name
    assert reply.header("x-trilane-error") == expect.code, name
    assert reply.header("x-should-retry") == ("false" if expect.status < 500 or expect.final else None), name
    assert reply.header("retry-after") is None, name
    assert reply.header("allow") == expect.allow, name
    request_id = reply.header("x-request-id")
    assert request_id and re.fullmatch(r"[0-9a-f-]{36}", request_id), f"{name}: x-request-id {request_id}"
    if expect.shape != "E":  # Envoy has no id of its own yet where it refuses a path
        has_b_id = expect.shape == "B" or expect.shape.endswith("*")
        assert reply.header("request-id") == (request_id if has_b_id else None), name
    message = check_shape(name, expect, reply.json(), request_id)
    if expect.says.startswith("="):
        assert message == expect.says[1:], name
    else:
        assert expect.says in message, f"{name}: {message}"
    assert not expect.hides or expect.hides not in message, f"{name}: {message}"
    for key, secret in KEYS.items():
        assert secret not in text, f"{name}: {key} stands in the answer"
    if caller is not None:
        # An account's fault is tried again at the others.
        listeners = {entry["listener"] for entry in caller.seen(reply)}
        assert listeners == ({expect.reaches} if expect.reaches else set()), f"{name}: the upstream saw {listeners}"


def check_shape(name: str, expect: Refused, body: Any, request_id: str) -> str:
    """Exactly the fields of the shape, in the right words. Gives the message."""
    of_a, of_b, of_c = VOCABULARY[expect.status]
    if expect.code in NOT_FOUND_TYPES:
        of_a = "not_found_error"
    message = body["error"]["message"]
    assert isinstance(message, str) and message, name
    error_info = [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": expect.code, "domain": "trilane"},
    ]
    error_code = {"error_code": expect.code}
    shapes: dict[str, Any] = {
        "A": {"error": {"message": message, "type": of_a, "param": expect.param, "code": expect.code}},
        "B": {
            "type": "error",
            "error": {"type": of_b, "message": message, "details": error_code},
            "request_id": request_id,
        },
        "C": {"error": {"code": expect.status, "message": message, "status": of_c, "details": error_info}},
    }
    for words in ("A", "B", "C"):
        shapes[f"{words}*"] = {
            "type": "error",
            "error": {
                "type": of_b if words == "B" else of_a,
                "message": message,
                "param": expect.param,
                # Two fields that C reads differently.
                "code": expect.status if words == "C" else expect.code,
                "status": of_c,
                "details": error_info if words == "C" else error_code,
            },
            "request_id": request_id,
        }
    shapes["E"] = {**shapes["A*"], "error": {k: v for k, v in shapes["A*"]["error"].items() if k != "details"}}
    assert body == shapes[expect.shape], f"{name}: {body}"
    return message


def check_listed(name: str, expect: Listed, reply: Reply, caller: Caller) -> None:
    """A local answer with these models; their fields in full are the business of the tests of lists."""
    assert reply.status == 200, f"{name}: {reply.status} {reply.body[:300]!r}"
    assert reply.header("content-type") == "application/json", name
    assert reply.header("x-trilane-error") is None, name
    assert reply.header("x-request-id"), name
    body = reply.json()
    if expect.shape == "shared":
        assert body["object"] == "list" and body["has_more"] is False, f"{name}: {body}"
        got = [model["id"] for model in body["data"]]
    elif expect.shape == "C":
        assert set(body) == {"models"}, f"{name}: {body}"
        got = [model["name"].removeprefix("models/") for model in body["models"]]
    elif expect.shape == "one":
        got = [body["id"]]
    else:
        assert body["name"].startswith("models/"), f"{name}: {body}"
        got = [body["name"].removeprefix("models/")]
    assert got == list(expect.ids), f"{name}: {got}"
    assert caller.seen(reply) == [], f"{name}: the upstream saw the request"
