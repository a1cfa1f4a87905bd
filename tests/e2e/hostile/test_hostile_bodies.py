"""Requests whose body is hostile: a second model, broken documents, wrong lengths, aborts, ambiguous framing.

The body streams upstream as soon as its model is known, so much of this happens when the upstream has the
beginning already. What must hold: it never gets the whole of a request that was not approved.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time

import pytest
from e2e.raw import Http1, Http2
from e2e.support import Gateway, never_complete
from e2e.uploading import A, CHAT, GOOD, START, WIRES, Upload, new_marker, refused, wait_bytes
from stack import Stack

EDITS = "/v1/images/edits"
#: States in the journal of a request that the upstream never had whole.
ABORTED = "request_aborted"


pytestmark = pytest.mark.usefixtures("filter_lives", "requests_go_on")


@pytest.fixture(scope="module")
def stack(stack_by_hand: Stack) -> Stack:
    """Where a body streams as soon as its model is known. For several accounts its `stream` must be known too."""
    return stack_by_hand


@pytest.fixture(scope="module")
def gateway(stack: Stack) -> Gateway:
    return Gateway(stack)


# ---- A good beginning and a bad end

#: What else is refused is in `tests/golden/cases/bodies.txt`.
ENDS = {
    "a second model": b',"model":"gpt-5.4"}',
    "bytes after the end": b"}x",
    "NUL after the end": b"}\0",
    "no end": b"",
    "no end of an escape": b',"x":"\\',
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", ENDS)
def test_a_bad_end_after_the_release(stack: Stack, gateway: Gateway, name: str, wire: str) -> None:
    """The upstream has the good beginning when the bad end comes: it is reset, the client is told."""
    marker, mark = new_marker()
    upload = Upload(stack, wire, CHAT, (*A, mark), len(START + ENDS[name]))
    upload.piece(START)
    # Without this the pieces could arrive together, and nothing would have been released.
    if ENDS[name] or "length" not in wire:
        wait_bytes(gateway, marker, len(START))
    if ENDS[name]:
        upload.piece(ENDS[name])
    refused(name, upload.end())
    never_complete(gateway, marker, name)


#: More than the gateway waits for a model.
FILLER = b"x" * (300 << 10)
FORM = b'--edge\r\ncontent-disposition: form-data; name="%s"\r\n\r\n%s\r\n'
UNENDED: dict[str, tuple[str, str, bytes]] = {
    "JSON without its end": (CHAT, "application/json", START),
    "JSON, within a string": (CHAT, "application/json", START + b',"x":"a}'),
    "JSON, within an escape": (CHAT, "application/json", START + b',"x":"\\'),
    "JSON without end and model": (CHAT, "application/json", b'{"messages":["' + FILLER),
    # Some servers take a form without its last line. This one would get a model of their choice.
    "a form without end": (EDITS, "multipart/form-data; boundary=edge", FORM % (b"model", b"gpt-image-1") + FORM % (b"prompt", FILLER)),
    "a form without end and model": (EDITS, "multipart/form-data; boundary=edge", FORM % (b"prompt", FILLER) + b"--edge"),
}  # fmt: skip


@pytest.mark.parametrize("wire", ["h1-length", "h2-length"])
@pytest.mark.parametrize("name", UNENDED)
def test_the_last_byte_waits_for_the_verdict(stack: Stack, gateway: Gateway, name: str, wire: str) -> None:
    """All bytes of the `content-length` are there, perhaps not the frame that says so: nobody has it whole yet."""
    path, content_type, body = UNENDED[name]
    marker, mark = new_marker()
    upload = Upload(stack, wire, path, (A[0], ("content-type", content_type), mark), len(body))
    # The head by itself and the last byte by itself, which is where Envoy's own notion of the end varies.
    time.sleep(0.02)
    upload.piece(body[:-1])
    time.sleep(0.02)
    upload.piece(body[-1:])
    # Nothing is to happen here, so there is nothing to wait for: time enough for the upstream to have it.
    time.sleep(0.15)
    assert [entry["body_sha256"] for entry in gateway.seen(marker)] in ([], [None]), f"{name}: it is complete"
    refused(name, upload.end())
    never_complete(gateway, marker, name)


@pytest.mark.parametrize("wire", WIRES)
def test_a_good_end_after_the_release(stack: Stack, gateway: Gateway, wire: str) -> None:
    """The control of the tests above: the same way, with the right end."""
    marker, mark = new_marker()
    upload = Upload(stack, wire, CHAT, (*A, mark), len(START) + 1)
    upload.piece(START)

    wait_bytes(gateway, marker, len(START))
    upload.piece(b"}")
    answer = upload.end()
    assert answer.status == 200 and answer.complete, answer
    entry = gateway.wait_seen(marker, "answered")
    assert entry["body_sha256"] == hashlib.sha256(START + b"}").hexdigest()


UNDECIDED = {
    "no model": (b'{"messages":[]}', 400, "model_missing"),
    "a model, no end": (b'{"model":"gpt-5.1","messages":[', 400, "invalid_body"),
    "nothing": (b"", 400, "invalid_body"),
}


@pytest.mark.parametrize("wire", ["h1-chunked", "h2", "h2-trailers"])
@pytest.mark.parametrize("name", UNDECIDED)
def test_undecided_to_the_end(stack: Stack, gateway: Gateway, name: str, wire: str) -> None:
    """An end without a last chunk (trailers, the final chunk of HTTP/1) decides as well."""
    body, status, code = UNDECIDED[name]
    marker, mark = new_marker()
    upload = Upload(stack, wire, CHAT, (*A, mark), len(body))
    if body:
        upload.piece(body)
    refused(name, upload.end(), status, code)
    never_complete(gateway, marker, name)


# ---- Lengths and aborts


@pytest.mark.parametrize("released", [False, True], ids=["held", "released"])
@pytest.mark.parametrize("off_by", [-1, 1], ids=["body too short", "body too long"])
def test_h2_content_length_is_binding(stack: Stack, gateway: Gateway, off_by: int, released: bool) -> None:
    marker, mark = new_marker()
    said = len(GOOD) - off_by
    with Http2(stack.base_url) as client:
        stream = client.start("POST", CHAT, (*A, mark, ("content-length", str(said))))
        if released:
            client.data(stream, GOOD[:34])
            wait_bytes(gateway, marker, 34)
            client.data(stream, GOOD[34:], end=True)
        else:
            client.data(stream, GOOD, end=True)
        answer = client.answer(stream)
    assert answer.status in (0, 400), answer
    never_complete(gateway, marker, f"content-length {off_by:+}")


@pytest.mark.parametrize("released", [False, True], ids=["held", "released"])
@pytest.mark.parametrize("how", ["h1-close", "h1-reset", "h1-half-close", "h1-chunked-close", "h2-reset", "h2-close"])
def test_truncated_bodies(stack: Stack, gateway: Gateway, how: str, released: bool) -> None:
    """The client goes away in the middle of its body; a well-formed document is no complete request yet."""
    marker, mark = new_marker()
    body = GOOD if released else b'{"messages":[{"role":"user","content":"hi"}]'
    if how.startswith("h2"):
        with Http2(stack.base_url) as client:
            stream = client.start("POST", CHAT, (*A, mark))
            client.data(stream, body)
            if released:
                wait_bytes(gateway, marker, len(body))
            if how == "h2-reset":
                client.reset(stream)
    else:
        with Http1(stack.base_url) as client1:
            if how == "h1-chunked-close":
                client1.head("POST", CHAT, (*A, mark, ("transfer-encoding", "chunked")))
                client1.chunk(body)
            else:
                client1.head("POST", CHAT, (*A, mark, ("content-length", str(len(body) + 1))))
                client1.send(body)
            if released:
                wait_bytes(gateway, marker, len(body))
            if how == "h1-reset":
                client1.reset()
            elif how == "h1-half-close":
                client1.sock.shutdown(1)
                client1.answer()
    if released:
        assert gateway.wait_seen(marker, ABORTED)["body_sha256"] is None, how
    else:
        assert not gateway.seen(marker), how


def test_slow_loris(stack: Stack, gateway: Gateway) -> None:
    """Thirty clients each give a byte now and then and then nothing: none of it is ever complete upstream."""
    marker, mark = new_marker()
    clients = [Http1(stack.base_url) for _ in range(30)]
    for client in clients:
        client.head("POST", CHAT, (*A, mark, ("content-length", "1000")))
    for byte in START[:20]:
        for client in clients:
            client.send(bytes([byte]))
    assert not [entry for entry in gateway.seen(marker) if entry["body_sha256"]]
    for client in clients:
        client.sock.close()
    for entry in gateway.seen(marker):
        assert entry["state"] in ("receiving", ABORTED), entry
    never_complete(gateway, marker, "slow loris")


# ---- Many requests in one connection, bodies that look like requests


def test_pipelined(stack: Stack, gateway: Gateway) -> None:
    """A hundred requests in one write: each is decided by itself, the answers come in order."""
    marks = [new_marker() for _ in range(100)]
    with Http1(stack.base_url) as client:
        data = b""
        for _, (name, value) in marks:
            data += (
                f"POST {CHAT} HTTP/1.1\r\nhost: g\r\nauthorization: Bearer trilane-demo-a\r\nx-sim-echo: 1\r\n"
                f"{name!s}: {value!s}\r\ncontent-length: {len(GOOD)}\r\n\r\n"
            ).encode() + GOOD
        client.send(data)
        for number, (marker, _) in enumerate(marks):
            answer = client.answer()
            assert answer.status == 200, f"{number}: {answer}"
            assert ["x-sim-marker", marker] in json.loads(answer.body)["headers"], number


def test_pipelined_behind_a_refusal(stack: Stack, gateway: Gateway) -> None:
    """The connection ends with the refusal; what was sent behind it is not taken for anything."""
    marker, (name, value) = new_marker()
    with Http1(stack.base_url) as client:
        request = f"POST {CHAT} HTTP/1.1\r\nhost: g\r\n{name!s}: {value!s}\r\ncontent-length: {len(GOOD)}\r\n"
        client.send((request + "authorization: Bearer nope\r\n\r\n").encode() + GOOD)
        client.send((request + "authorization: Bearer nope\r\n\r\n").encode() + GOOD)
        refused("first", client.answer(), 401, "invalid_api_key")
        assert client.closed()
    assert not gateway.seen(marker)


SMUGGLED = b"POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer trilane-demo-a\r\nx-sim-marker: SMUGGLED\r\ncontent-length: %d\r\n\r\n%s" % (len(GOOD), GOOD)  # fmt: skip
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)


@dataclasses.dataclass(frozen=True)
class Framing:
    """Lines that say how long the body is, and what follows them."""

    name: str
    lines: bytes
    body: bytes
    status: int


FRAMINGS = [
    Framing("length, then chunked", b"content-length: 5\r\ntransfer-encoding: chunked", CHUNKED, 400),
    Framing("chunked, then length", b"transfer-encoding: chunked\r\ncontent-length: 5", CHUNKED, 400),
    Framing("two lengths", b"content-length: %d\r\ncontent-length: 5" % len(GOOD), GOOD, 400),
    Framing("the same length twice", b"content-length: %d\r\ncontent-length: %d" % (len(GOOD), len(GOOD)), GOOD, 400),
    Framing("a list of lengths", b"content-length: %d, %d" % (len(GOOD), len(GOOD)), GOOD, 400),
    Framing("a signed length", b"content-length: +%d" % len(GOOD), GOOD, 400),
    Framing("a negative length", b"content-length: -1", GOOD, 400),
    Framing("a hexadecimal length", b"content-length: 0x3f", GOOD, 400),
    Framing("a length beyond 64 bits", b"content-length: 99999999999999999999999", GOOD, 400),
    Framing("xchunked", b"transfer-encoding: xchunked", CHUNKED, 501),
    Framing("chunked, identity", b"transfer-encoding: chunked, identity", CHUNKED, 501),
    Framing("two transfer encodings", b"transfer-encoding: chunked\r\ntransfer-encoding: identity", CHUNKED, 501),
    Framing("gzip, chunked", b"transfer-encoding: gzip, chunked", CHUNKED, 501),
    Framing("a vertical tab before chunked", b"transfer-encoding: \x0bchunked", CHUNKED, 400),
    Framing("a space before the colon", b"transfer-encoding : chunked", CHUNKED, 400),
    Framing("a chunk size that is none", b"transfer-encoding: chunked", b"zz\r\n" + GOOD, 400),
    Framing("a chunk size beyond 64 bits", b"transfer-encoding: chunked", b"fffffffffffffffff\r\n" + GOOD, 400),
    Framing("a bare LF after a chunk size", b"transfer-encoding: chunked", CHUNKED.replace(b"\r\n", b"\n"), 400),
    Framing("no length at all", b"x-nothing: 1", GOOD, 400),
    Framing("length 0 and a request behind it", b"content-length: 0", SMUGGLED, 400),
    Framing("a body that is a request", b"content-length: %d" % len(SMUGGLED), SMUGGLED, 400),
    Framing("a chunk that is a request", b"transfer-encoding: chunked", b"%x\r\n%s\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED), 400),  # fmt: skip
    Framing("a request behind a wrong length", b"transfer-encoding: chunked\r\ncontent-length: 5", b"0\r\n\r\n" + SMUGGLED, 400),  # fmt: skip
]


@pytest.mark.parametrize("case", FRAMINGS, ids=lambda case: case.name)
def test_ambiguous_framing(stack: Stack, gateway: Gateway, case: Framing) -> None:
    marker, _ = new_marker()
    hidden, _ = new_marker()
    with Http1(stack.base_url) as client:
        client.send(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer trilane-demo-a\r\n"
            b"x-sim-marker: %s\r\n%s\r\n\r\n%s"
            % (marker.encode(), case.lines, case.body.replace(b"SMUGGLED", hidden.encode()))
        )
        answer = client.answer()
        assert answer.status == case.status, f"{case.name}: {answer}"
        assert answer.header("connection") == "close", f"{case.name}: the connection goes on"
    assert not gateway.seen(marker), case.name
    assert not gateway.seen(hidden), f"{case.name}: a request was smuggled in"


# ---- Expect: 100-continue


@pytest.mark.parametrize(("key", "status"), [("trilane-demo-a", 200), ("nope", 401)], ids=["good key", "bad key"])
def test_expect_continue(stack: Stack, gateway: Gateway, key: str, status: int) -> None:
    """Clients that ask first are told to go on (Envoy does so itself) and get the real answer."""
    marker, mark = new_marker()
    headers = (("authorization", f"Bearer {key}"), mark, ("expect", "100-continue"))
    with Http1(stack.base_url) as client:
        client.head("POST", CHAT, (*headers, ("content-length", str(len(GOOD)))))
        interim = client.next_head()
        if interim.status == 100:
            client.send(GOOD)
            answer = client.answer()
        else:
            client.read_body(interim)
            answer = interim
    assert answer.status == status and answer.complete, answer
    assert (interim.status == 100) or status == 401, interim
    seen = gateway.seen(marker)
    assert [entry["body_sha256"] for entry in seen] == ([hashlib.sha256(GOOD).hexdigest()] if status == 200 else [])
