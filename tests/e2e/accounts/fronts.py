"""A vendor's front: a server that gives up clients who do not send, or do not read, and otherwise answers as a test says."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from e2e.accounts.failing import ABRUPT, PATIENCE
from loopback import serve_each

#: How long it waits for the next bytes of a request, or until some of its answer is taken, in seconds.
PATIENT = 1.0
#: Answers a request; what it returns says whether the connection goes on.
Answer = Callable[[socket.socket], bool]

CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5.1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}
EVENT = b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'


def says(status: str = "200 OK", body: bytes = json.dumps(CHAT).encode(), headers: Iterable[str] = ()) -> Answer:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "content-type: application/json", *headers]

    def act(peer: socket.socket) -> bool:
        peer.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return True

    return act


def streams(headers: Iterable[str] = ()) -> Answer:
    """A short stream to its end."""
    head = "\r\n".join(["HTTP/1.1 200 OK", "content-type: text/event-stream", "transfer-encoding: chunked", *headers])

    def act(peer: socket.socket) -> bool:
        peer.sendall(head.encode() + b"\r\n\r\n" + b"".join(map(_chunk, [EVENT % b"hi", b"data: [DONE]\n\n", b""])))
        return True

    return act


def breaks_off(peer: socket.socket) -> bool:
    """A stream that ends by RST after its first event."""
    peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    peer.sendall(_chunk(EVENT % b"hi"))
    # So that the head is there before the reset.
    threading.Event().wait(0.2)
    return _abrupt(peer)


def endless(peer: socket.socket) -> bool:
    """A stream of more than anybody buffers, given up by RST when nobody takes it."""
    peer.settimeout(PATIENT)
    peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    event = _chunk(EVENT % (b"w" * 60_000))
    with contextlib.suppress(OSError):
        for _ in range(1000):
            peer.sendall(event)
    return _abrupt(peer)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _abrupt(peer: socket.socket) -> bool:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)
    return False


class Front:
    """HTTP/1.1 on loopback."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer or says()
        #: Whether it answers as soon as a request's head is there.
        self.is_early = False
        self._lock = threading.Condition()
        #: How many requests have begun, how many of them came to their end, and how many connections it gave up.
        self.begun = self.whole = self.given_up = 0
        #: The bodies of those that came to their end.
        self.bodies: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Front:
        threading.Thread(target=serve_each, args=(self._listener, self._serve), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nobody listens any more. Connections that there are go on."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def wait_given_up(self, count: int) -> None:
        """Until it has given up so many connections."""
        with self._lock:
            assert self._lock.wait_for(lambda: self.given_up >= count, PATIENCE), f"{self.given_up} of {count}"

    def _tell(self, **counts: int) -> None:
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)
            self._lock.notify_all()

    def _serve(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError), peer.makefile("rb") as file:
            goes_on = True
            while goes_on:
                peer.settimeout(PATIENCE)
                headers: dict[bytes, bytes] = {}
                for line in iter(file.readline, b"\r\n"):
                    if not line:
                        return
                    name, _, value = line.partition(b":")
                    headers[name.lower()] = value.strip()
                self._tell(begun=1)
                if self.is_early:
                    self.answer(peer)
                    peer.shutdown(socket.SHUT_WR)
                    while peer.recv(1 << 16):
                        pass
                    return
                peer.settimeout(PATIENT)
                body = self._body(file, headers)
                if body is None:
                    self._tell(given_up=1)
                    _abrupt(peer)
                    return
                self.bodies.append(body)
                self._tell(whole=1)
                goes_on = self.answer(peer)
            self._tell(given_up=1)

    @staticmethod
    def _body(file: Any, headers: dict[bytes, bytes]) -> bytes | None:
        """The body; `None` where it did not come."""
        body = b""
        try:
            if headers.get(b"transfer-encoding") == b"chunked":
                while size := int(file.readline(), 16):
                    body += file.read(size)
                    file.readline()
                file.readline()
                return body
            left = int(headers.get(b"content-length") or 0)
            while left:
                piece = file.read1(left)
                if not piece:
                    return None
                body += piece
                left -= len(piece)
        except (TimeoutError, ValueError):
            return None
        return body
