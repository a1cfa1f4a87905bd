"""Requests of protocol A sent piece by piece, for the tests of bodies."""

from __future__ import annotations

import itertools
import json
from typing import Optional

from e2e.raw import Answer, Header, Http1, Http2
from e2e.support import Gateway
from stack import Stack

CHAT = "/v1/chat/completions"
A: tuple[Header, ...] = (("authorization", "Bearer trilane-demo-a"), ("content-type", "application/json"))
GOOD = b'{"model":"gpt-5.1","stream":false,"messages":[{"role":"user","content":"hi"}]}'
#: Enough of a good request for the gateway to let it go, as it is no stream that must be asked for its usage: the rest
#: decides.
START = b'{"model":"gpt-5.1","stream":false,"messages":[{"role":"user","content":"hi"}]'

_markers = itertools.count(1)


def new_marker() -> tuple[str, Header]:
    marker = f"body{next(_markers)}"
    return marker, ("x-sim-marker", marker)


def refused(name: str, answer: Answer, status: int = 400, code: str = "invalid_body") -> None:
    """Protocol A's error, whole."""
    assert answer.status == status and answer.complete, f"{name}: {answer}"
    assert answer.header("x-trilane-error") == code, f"{name}: {answer}"
    error = json.loads(answer.body)["error"]
    assert error["code"] == code and error["type"] == "invalid_request_error" and error["message"], f"{name}: {error}"


def wait_bytes(gateway: Gateway, marker: str, size: int) -> None:
    """Returns when the upstream has `size` bytes of the body."""
    gateway.wait_seen(marker, "receiving")
    for _ in range(1000):
        if gateway.seen(marker)[-1]["body_bytes"] >= size:
            return
    raise AssertionError(f"the upstream never got {size} bytes: {gateway.seen(marker)}")


class Upload:
    """A request that is sent piece by piece, in one of five ways.

    With a `content-length` the upstream takes the request for complete as soon as it has that many bytes, while
    the gateway may hear of the end only later: always over HTTP/2 (`h2-length`: an empty last frame, as many
    clients send it), now and then over HTTP/1.
    """

    def __init__(self, stack: Stack, wire: str, path: str, headers: tuple[Header, ...], length: int) -> None:
        self.wire = wire
        self.h1: Optional[Http1] = None
        if wire.startswith("h2"):
            self.h2 = Http2(stack.base_url)
            if wire == "h2-length":
                headers = (*headers, ("content-length", str(length)))
            self.stream = self.h2.start("POST", path, headers)
            return
        self.h1 = Http1(stack.base_url)
        framing = ("content-length", str(length)) if wire == "h1-length" else ("transfer-encoding", "chunked")
        self.h1.head("POST", path, (*headers, framing))

    def piece(self, data: bytes) -> None:
        if not self.h1:
            self.h2.data(self.stream, data)
        elif self.wire == "h1-chunked":
            self.h1.chunk(data)
        else:
            self.h1.send(data)

    def end(self) -> Answer:
        if self.h1:
            if self.wire == "h1-chunked":
                self.h1.chunk(b"")
            answer = self.h1.answer()
            self.h1.sock.close()
            return answer
        over = self.h2.is_over(self.stream)
        if not over and self.wire == "h2-trailers":
            self.h2.trailers(self.stream, [("x-end", "1")])
        elif not over:
            self.h2.data(self.stream, b"", end=True)
        answer = self.h2.answer(self.stream)
        self.h2.sock.close()
        return answer


WIRES = ["h1-length", "h1-chunked", "h2", "h2-length", "h2-trailers"]
