"""Requests whose head is hostile: bytes, sizes, repetitions, orders to the proxy, paths, methods, framing.

What must hold of each: the answer is the right one in the protocol's own shape, the upstream sees nothing
of a request that is refused (and exactly the plain request of one that is not), and the gateway stays whole.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator
from typing import Optional

import pytest
from e2e.raw import Answer, Header, Http1, Http2, Name
from e2e.support import Gateway, x_api_key
from stack import Stack

JSON_TYPE: Header = ("content-type", "application/json")
KEY_A: Header = ("authorization", "Bearer trilane-demo-a")
KEY_B: Header = ("x-api-key", "trilane-demo-b")
KEY_C: Header = ("x-goog-api-key", "trilane-demo-c")
VERSION: Header = ("anthropic-version", "2023-06-01")

CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"
MODELS = "/v1beta/models/"
GENERATE = f"{MODELS}gemini-2.5-flash:generateContent"

A: tuple[Header, ...] = (KEY_A, JSON_TYPE)
B: tuple[Header, ...] = (KEY_B, VERSION, JSON_TYPE)
C: tuple[Header, ...] = (KEY_C, JSON_TYPE)

CHAT_BODY = b'{"model":"gpt-5.1","messages":[{"role":"user","content":"hi"}]}'
BODIES = {
    CHAT: CHAT_BODY,
    MESSAGES: b'{"model":"claude-opus-4-8","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}',
    GENERATE: b'{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}',
}

#: How a request ends. `passes`: the upstream answers it. `dies`: over HTTP/2 Envoy has no answer to a malformed
#: head and gives the stream or the connection up. Else: status and `x-trilane-error`.
PASSES = (200, None)
DIES = (0, None)
NO_KEY = (401, "invalid_api_key")
NO_VERSION = (400, "invalid_version")
BAD = (400, "bad_request")
BAD_PATH = (400, "bad_path")
TOO_LARGE = (431, "headers_too_large")
NO_MODEL = (404, "model_not_found")
NO_PATH = (404, "not_found")
NO_METHOD = (405, "method_not_allowed")
Expected = tuple[int, Optional[str]]

_markers = itertools.count(1)


pytestmark = pytest.mark.usefixtures("filter_lives")


@dataclasses.dataclass(frozen=True)
class Case:
    """One hostile head, and what comes of it over each protocol; `None`: not sent over this one."""

    name: str
    h1: Optional[Expected]
    h2: Optional[Expected]
    path: Name = CHAT
    headers: tuple[Header, ...] = A
    method: Name = "POST"
    body: Optional[bytes] = None
    #: The path that the upstream gets, where it is not the client's.
    goes_to: Optional[str] = None


def many(count: int) -> tuple[Header, ...]:
    return tuple((f"x-many-{number}", "1") for number in range(count))


BYTES = [
    Case("0xff in x-api-key", NO_KEY, NO_KEY, MESSAGES, (("x-api-key", b"trilane-demo-b\xff"), *B[1:])),
    Case("0xff alone in x-api-key", NO_KEY, NO_KEY, MESSAGES, (("x-api-key", b"\xff"), *B[1:])),
    Case("0xff in authorization", NO_KEY, NO_KEY, CHAT, (("authorization", b"Bearer \xff"), *A[1:])),
    Case("0xff as the scheme", NO_KEY, NO_KEY, CHAT, (("authorization", b"\xff\xff\xff\xff\xff\xff k"), *A[1:])),
    Case("0xff in x-goog-api-key", NO_KEY, NO_KEY, GENERATE, (("x-goog-api-key", b"\xff\xfe"), *C[1:])),
    Case("0xff in x-vc-api-key", NO_KEY, NO_KEY, GENERATE, (("x-vc-api-key", b"\x80"), *C)),
    Case("0xff in anthropic-version", NO_VERSION, NO_VERSION, MESSAGES, (KEY_B, ("anthropic-version", b"2023-06-01\xff"), JSON_TYPE)),  # fmt: skip
    Case("0xff in vb-version", NO_VERSION, NO_VERSION, MESSAGES, (*B, ("vb-version", b"\xff"))),
    Case("0xff in another header", PASSES, PASSES, MESSAGES, (*B, ("x-other", b"\xff\xfe\x80"))),
    Case("0xff in content-type", PASSES, PASSES, CHAT, (KEY_A, ("content-type", b"\xff"))),
    Case("0xff in x-request-id", PASSES, PASSES, CHAT, (*A, ("x-request-id", b"\xff"))),
    Case("0xff in content-encoding", (415, "request_body_encoding_unsupported"), (415, "request_body_encoding_unsupported"), CHAT, (*A, ("content-encoding", b"\xff"))),  # fmt: skip
    Case("0xff in a name", BAD, DIES, CHAT, (*A, (b"x-\xff", "1"))),
    Case("0xff in host", BAD, None, CHAT, (*A, ("host", b"\xff"))),
    Case("0xff in the path", BAD, NO_PATH, b"/v1/chat/\xff"),
    Case("0xff in the method", BAD, DIES, method=b"PO\xffST"),
    Case("NUL in a value", BAD, DIES, CHAT, (*A, ("x-n", b"a\0b"))),
    Case("NUL after the key", BAD, DIES, MESSAGES, (("x-api-key", b"trilane-demo-b\0"), *B[1:])),
    Case("NUL in the path", BAD, DIES, b"/v1/chat/completions\0"),
    Case("LF in a value", BAD, DIES, CHAT, (*A, ("x-n", b"a\nb"))),
    Case("LF after the key", BAD, DIES, MESSAGES, (("x-api-key", b"trilane-demo-b\nx"), *B[1:])),
    Case("CRLF and a header in a value", None, DIES, CHAT, (*A, ("x-n", b"a\r\nx-trilane-cluster: b_official"))),
    Case("CR in a value", PASSES, DIES, CHAT, (*A, ("x-n", b"a\rb"))),
    Case("space before the colon", BAD, DIES, MESSAGES, (("x-api-key ", "trilane-demo-b"), *B[1:])),
    Case("upper case names", PASSES, DIES, MESSAGES, (("X-API-KEY", "trilane-demo-b"), *B[1:])),
    Case("connection header over h2", PASSES, DIES, CHAT, (*A, ("connection", "keep-alive"))),
    Case("underscores for hyphens", NO_KEY, NO_KEY, MESSAGES, (("x_api_key", "trilane-demo-b"), *B[1:])),
]

SIZES = [
    Case("a header of 64 KiB", TOO_LARGE, DIES, CHAT, (*A, ("x-big", "a" * 65536))),
    Case("a key of 64 KiB", TOO_LARGE, DIES, MESSAGES, (("x-api-key", "a" * 65536), *B[1:])),
    Case("a key of 50 KiB", NO_KEY, NO_KEY, MESSAGES, (("x-api-key", "a" * 51200), *B[1:])),
    Case("a key of 257 bytes", NO_KEY, NO_KEY, MESSAGES, (("x-api-key", "a" * 257), *B[1:])),
    Case("a path of 64 KiB", TOO_LARGE, DIES, f"{CHAT}?{'a' * 65536}"),
    Case("a path of 40 KiB", NO_PATH, NO_PATH, f"{CHAT}/{'a' * 40960}"),
    Case("a model of 40 KiB in the path", NO_MODEL, NO_MODEL, f"{MODELS}{'a' * 40960}:generateContent", C),
    Case("300 headers", TOO_LARGE, DIES, CHAT, (*A, *many(300))),
    Case("85 headers more", PASSES, PASSES, CHAT, (*A, *many(85))),
]

REPEATED = [
    Case("the same x-api-key twice", NO_KEY, NO_KEY, MESSAGES, (KEY_B, *B)),
    Case("a wrong x-api-key first", NO_KEY, NO_KEY, MESSAGES, (("x-api-key", "nope"), *B)),
    Case("a wrong x-api-key last", NO_KEY, NO_KEY, MESSAGES, (*B, ("x-api-key", "nope"))),
    Case("an empty x-api-key first", NO_KEY, NO_KEY, MESSAGES, (("x-api-key", ""), *B)),
    Case("the same authorization twice", NO_KEY, NO_KEY, CHAT, (KEY_A, *A)),
    Case("a wrong authorization first", NO_KEY, NO_KEY, CHAT, (("authorization", "Bearer nope"), *A)),
    Case("the same x-goog-api-key twice", NO_KEY, NO_KEY, GENERATE, (KEY_C, *C)),
    Case("two names, two keys", NO_KEY, NO_KEY, GENERATE, (("x-vc-api-key", "nope"), *C)),
    Case("two names, one key", PASSES, PASSES, GENERATE, (("x-vc-api-key", "trilane-demo-c"), *C)),
    Case("two keys with a comma", NO_KEY, NO_KEY, MESSAGES, (("x-api-key", "trilane-demo-b,trilane-demo-b"), *B[1:])),
    Case("the version twice", NO_VERSION, NO_VERSION, MESSAGES, (*B, VERSION)),
    Case("two versions", NO_VERSION, NO_VERSION, MESSAGES, (*B, ("vb-version", "2024-01-01"))),
    Case("two content types", PASSES, PASSES, CHAT, (*A, ("content-type", "text/plain"))),
]

PATHS = [
    Case("%2F", BAD_PATH, BAD_PATH, "/v1%2Fchat/completions"),
    Case("%5c", BAD_PATH, BAD_PATH, "/v1%5cchat/completions"),
    Case("%00", BAD_PATH, BAD_PATH, f"{CHAT}%00"),
    Case("backslash", PASSES, PASSES, "/v1\\chat/completions", goes_to=CHAT),
    Case("a fragment", BAD_PATH, BAD_PATH, f"{CHAT}#x"),
    Case("a fragment in the query", BAD_PATH, BAD_PATH, f"{CHAT}?x#y"),
    Case("dot segment", PASSES, PASSES, "/v1/./chat/completions", goes_to=CHAT),
    Case("dot dot segment", PASSES, PASSES, "/v1/x/../chat/completions", goes_to=CHAT),
    Case("encoded dot dot segment", PASSES, PASSES, "/v1/x/%2e%2E/chat/completions", goes_to=CHAT),
    Case("dot dot above the root", PASSES, PASSES, "/../../v1/chat/completions", goes_to=CHAT),
    Case("repeated slashes", PASSES, PASSES, "//v1//chat///completions", goes_to=CHAT),
    Case("an encoded letter", PASSES, PASSES, "/v1/%63hat/completions", goes_to=CHAT),
    Case("an encoded letter of the version", PASSES, PASSES, "/%76%31/chat/completions", goes_to=CHAT),
    Case("a slash at the end", NO_PATH, NO_PATH, f"{CHAT}/"),
    Case("a path parameter", NO_PATH, NO_PATH, f"{CHAT};x=1"),
    Case("a space at the end", NO_PATH, NO_PATH, f"{CHAT}%20"),
    Case("another case", NO_PATH, NO_PATH, "/v1/Chat/completions"),
    Case("no slash at the start", BAD, DIES, CHAT[1:]),
    Case("an asterisk", BAD, DIES, "*"),
    Case("a space in the query", BAD, DIES, f"{CHAT}?x= HTTP/1.1"),
    Case("a tab in the query", BAD, DIES, f"{CHAT}?a\tb"),
    Case("an empty query", PASSES, PASSES, f"{CHAT}?", goes_to=f"{CHAT}?"),
    Case("a query with %2F and %00", PASSES, PASSES, f"{CHAT}?x=%2F%00", goes_to=CHAT),
    Case("the internal listener's path", NO_PATH, NO_PATH, "/gateway.json", method="GET"),
]

MODELS_IN_PATHS = [
    Case("..%2f", BAD_PATH, BAD_PATH, f"{MODELS}..%2fgemini-2.5-flash:generateContent", C),
    Case("a doubly encoded dot dot", NO_MODEL, NO_MODEL, f"{MODELS}%252e%252e%252fgemini-2.5-flash:generateContent", C),
    Case("a doubly encoded dot", NO_MODEL, NO_MODEL, f"{MODELS}%252e:generateContent", C),
    Case("a dot", NO_MODEL, NO_MODEL, f"{MODELS}.:generateContent", C),
    Case("a query in the middle", NO_METHOD, NO_METHOD, f"{MODELS}gemini-2.5-flash?alt:generateContent", C),
    Case("an encoded question mark", NO_MODEL, NO_MODEL, f"{MODELS}gemini-2.5-flash%3Falt:generateContent", C),
    Case("an encoded hash", NO_MODEL, NO_MODEL, f"{MODELS}gemini-2.5-flash%23:generateContent", C),
    Case("a path parameter after a model", NO_MODEL, NO_MODEL, f"{MODELS}gemini-2.5-flash;x:generateContent", C),
    Case("%00 after a model", BAD_PATH, BAD_PATH, f"{MODELS}gemini-2.5-flash%00:generateContent", C),
    Case("%0d%0a after a model", NO_MODEL, NO_MODEL, f"{MODELS}gemini-2.5-flash%0d%0aa:generateContent", C),
    Case("%20 after a model", NO_MODEL, NO_MODEL, f"{MODELS}gemini-2.5-flash%20:generateContent", C),
    Case("%ff", NO_PATH, NO_PATH, f"{MODELS}%ff:generateContent", C),
    Case("dot dot out of the models", NO_PATH, NO_PATH, f"{MODELS}../x:generateContent", C),
    Case("dot dot and back", PASSES, PASSES, f"{MODELS}../models/gemini-2.5-flash:generateContent", C, goes_to=GENERATE),
    Case("an encoded colon", PASSES, PASSES, f"{MODELS}gemini-2.5-flash%3AgenerateContent", C, goes_to=GENERATE),
    Case("an encoded hyphen", PASSES, PASSES, f"{MODELS}gemini%2D2.5-flash:generateContent", C, goes_to=GENERATE),
    Case("models/ twice", PASSES, PASSES, f"{MODELS}models/gemini-2.5-flash:generateContent", C, goes_to=GENERATE),
    Case("models%2F", BAD_PATH, BAD_PATH, f"{MODELS}models%2Fgemini-2.5-flash:generateContent", C),
    Case("two methods", NO_MODEL, NO_MODEL, f"{GENERATE}:countTokens", C),
    Case("a method that climbs", NO_METHOD, NO_METHOD, f"{MODELS}gemini-2.5-flash:generate/../x", C),
    Case("a method with %2f", BAD_PATH, BAD_PATH, f"{GENERATE}%2f..", C),
    Case("no method", NO_METHOD, NO_METHOD, f"{MODELS}gemini-2.5-flash:", C),
    Case("no model", NO_METHOD, NO_METHOD, f"{MODELS}:generateContent", C),
    Case("a tuned model of the account", NO_PATH, NO_PATH, "/v1beta/tunedModels/x:generateContent", C),
]

METHODS = [
    *(Case(f"{method} with a body", NO_METHOD, NO_METHOD, method=method) for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE")),  # fmt: skip
    *(Case(f"{method} without a body", NO_METHOD, NO_METHOD, method=method, body=b"") for method in ("GET", "DELETE", "HEAD")),  # fmt: skip
    Case("an unknown method", BAD, NO_METHOD, method="FOO"),
    Case("a method in lower case", BAD, NO_METHOD, method="post"),
    Case("CONNECT", BAD, DIES, method="CONNECT", body=b""),
    Case("POST without a body", (400, "invalid_body"), (400, "invalid_body"), body=b""),
    Case("an expectation that nobody knows", PASSES, PASSES, CHAT, (*A, ("expect", "200-maybe"))),
]

TARGETS = [
    Case("absolute form", PASSES, None, f"http://gateway{CHAT}", goes_to=CHAT),
    Case("absolute form, another host", PASSES, None, f"http://elsewhere:1{CHAT}", goes_to=CHAT),
    Case("absolute form with dots", PASSES, None, f"http://gateway/v1/../{CHAT}", goes_to=CHAT),
    Case("absolute form, https on the plain port", (403, "bad_request"), None, f"https://gateway{CHAT}"),
    Case("absolute form, another scheme", BAD, None, f"ftp://gateway{CHAT}"),
    Case("absolute form, no path", NO_PATH, None, "http://gateway"),
]

CASES = [*BYTES, *SIZES, *REPEATED, *PATHS, *MODELS_IN_PATHS, *METHODS, *TARGETS]


def wires() -> Iterator[object]:
    for case in CASES:
        for wire, expected in (("h1", case.h1), ("h2", case.h2)):
            if expected:
                yield pytest.param(case, wire, expected, id=f"{wire}-{case.name.replace(' ', '_')}")


def send(stack: Stack, case: Case, wire: str, marker: str) -> Answer:
    path = case.path if isinstance(case.path, str) else CHAT
    body = BODIES.get(GENERATE if path.startswith("/v1beta") else path, CHAT_BODY) if case.body is None else case.body
    headers = (*case.headers, ("x-sim-marker", marker))
    with (Http1 if wire == "h1" else Http2)(stack.base_url) as client:
        return client.request(case.method, case.path, headers, body or None)


@pytest.mark.parametrize(("case", "wire", "expected"), wires())
def test_hostile_heads(stack: Stack, gateway: Gateway, case: Case, wire: str, expected: Expected) -> None:
    marker = f"head{next(_markers)}"
    answer = send(stack, case, wire, marker)
    status, code = expected
    seen = gateway.seen(marker)
    assert answer.status == status, f"{case.name}: {answer}"
    assert answer.complete == (status != 0), f"{case.name}: {answer}"
    if status == 200:
        assert [entry["path"] for entry in seen] == [case.goes_to or case.path], case.name
        return
    assert not seen, f"{case.name}: the upstream has it"
    if status:
        assert answer.header("x-trilane-error") == code, f"{case.name}: {answer}"
        if case.method != "HEAD":
            assert_shape(case.name, answer, code)


def assert_shape(name: str, answer: Answer, code: Optional[str]) -> None:
    """The error body's shape: of the protocol that the path tells, or of all three where Envoy refuses."""
    assert answer.header("content-type") == "application/json", name
    document = json.loads(answer.body)
    error = document["error"]
    assert error["message"], name
    of_envoy = code in ("bad_request", "bad_path", "headers_too_large")
    if "@type" in json.dumps(error):  # C
        assert error["code"] == answer.status and error["status"] and error["details"][0]["reason"] == code, name
    elif "code" in error:  # A, or all of them
        assert error["code"] == code and error["type"] and "param" in error, name
        assert not of_envoy or (document["type"] == "error" and error["status"] and document["request_id"]), name
    else:  # B
        assert document["type"] == "error" and error["details"]["error_code"] == code, name
        assert error["type"] and document["request_id"], name


def test_bytes_in_a_query(stack: Stack, gateway: Gateway) -> None:
    """Over HTTP/1 Envoy refuses them (`bad_request`); over HTTP/2 they must not go on into a request line either."""
    marker = f"query{next(_markers)}"
    with Http2(stack.base_url) as client:
        answer = client.request("POST", b"/v1/chat/completions?x=\xff", (*A, ("x-sim-marker", marker)), CHAT_BODY)
    assert answer.status == 400 and answer.header("x-trilane-error"), f"it went upstream: {answer}"
    assert not gateway.seen(marker)


#: What a client may not order, and what an upstream may not learn.
ORDERS: list[Header] = [
    ("x-trilane-cluster", "a_official"),
    ("X-TRILANE-Cluster", "a_official"),
    ("x-trilane-anything", "1"),
    ("x-envoy-original-path", "/v1/responses"),
    ("x-envoy-original-host", "elsewhere"),
    ("x-envoy-upstream-rq-timeout-ms", "1"),
    ("x-envoy-upstream-rq-per-try-timeout-ms", "1"),
    ("x-envoy-expected-rq-timeout-ms", "1"),
    ("x-envoy-max-retries", "5"),
    ("x-envoy-retry-on", "5xx,retriable-4xx"),
    ("x-envoy-retriable-status-codes", "500"),
    ("x-envoy-hedge-on-per-try-timeout", "true"),
    ("x-envoy-upstream-alt-stat-name", "x"),
    ("x-envoy-decorator-operation", "x"),
    ("x-envoy-force-trace", "1"),
    ("x-envoy-internal", "true"),
    ("x-envoy-external-address", "1.2.3.4"),
    ("x-envoy-ip-tags", "x"),
    ("x-forwarded-for", "1.2.3.4"),
    ("x-forwarded-host", "elsewhere"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-client-cert", "x"),
    ("forwarded", "for=1.2.3.4"),
    ("x-real-ip", "1.2.3.4"),
    ("proxy-authorization", "Bearer trilane-demo-b"),
    ("authorization", "Basic eDp5"),
    ("x-goog-api-key", "trilane-demo-c"),
    ("x-vc-api-key", "trilane-demo-c"),
]


@pytest.mark.parametrize("wire", ["h1", "h2"])
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: str(order[0]))
def test_clients_give_no_orders(stack: Stack, gateway: Gateway, order: Header, wire: str) -> None:
    """The request goes where its key says, in its time, once, and the upstream learns nothing of the header."""
    name, value = str(order[0]), str(order[1])
    if wire == "h2":
        name = name.lower()
    marker = f"order{next(_markers)}"
    # An upstream that takes its time and then fails: an order about timeouts or retries would show.
    # Where there is no other account to ask.
    key = x_api_key("key_b_low").items()
    headers = (*key, (name, value), ("x-sim-marker", marker), ("x-sim-delay-ms", "60"), ("x-sim-status", "500"))
    with (Http1 if wire == "h1" else Http2)(stack.base_url) as client:
        answer = client.request("POST", MESSAGES, headers, BODIES[MESSAGES])
    assert answer.status == 500, f"{name}: {answer}"
    assert not [header for header, _ in answer.headers if header.startswith(("x-envoy", "x-trilane"))], answer
    (entry,) = gateway.seen(marker)
    assert (entry["listener"], entry["path"]) == ("b_low_rate", MESSAGES), f"{name}: {entry}"
    received = {header: text for header, text in entry["headers"] if not header.startswith("x-sim-")}
    assert name.lower() not in received, f"{name}: {received}"
    assert value not in received.values(), f"{name}: {received}"
    assert not [header for header in received if header.startswith(("x-envoy", "x-trilane", "x-forwarded"))], received


@pytest.mark.parametrize("nominated", ["x-api-key", "anthropic-version"])
def test_connection_cannot_take_a_header_from_the_decision_alone(
    stack: Stack, gateway: Gateway, nominated: str
) -> None:
    """`connection: NAME` removes the header before the filter looks, not between the filter and the upstream."""
    marker = f"nominate{next(_markers)}"
    with Http1(stack.base_url) as client:
        answer = client.request(
            "POST", MESSAGES, (*B, ("connection", nominated), ("x-sim-marker", marker)), BODIES[MESSAGES]
        )
    assert answer.status == (401 if nominated == "x-api-key" else 400), f"{nominated}: {answer}"
    assert not gateway.seen(marker), nominated
