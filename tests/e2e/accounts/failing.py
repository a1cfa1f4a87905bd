"""Accounts that fail in ways for which the simulator is too polite: below HTTP, or against it."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from types import TracebackType

#: What makes `close` send RST.
ABRUPT = struct.pack("ii", 1, 0)
#: Nobody waits longer, in seconds.
PATIENCE = 30.0

Way = Callable[[socket.socket, "Failing"], None]


class Failing:
    """One loopback port for every way to fail. In documents: `failing.url("garbage", "a1")`.

    The account is in the address's path, so that what comes can be compared with that account's credential.
    """

    def __init__(self) -> None:
        self.ports: dict[str, int] = {}
        #: The heads of requests that came so far: the way, and what was read.
        self.heads: list[tuple[str, bytes]] = []
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._open: set[socket.socket] = set()
        self._over = False

    def __enter__(self) -> Failing:
        for way, act in WAYS.items():
            listener = socket.socket()
            listener.bind(("127.0.0.1", 0))
            self._sockets.append(listener)
            self.ports[way] = listener.getsockname()[1]
            if act is not None:  # else the port is held, and nobody listens
                listener.listen(512)
                threading.Thread(target=self._accept, args=(way, listener, act), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        for each in [*self._sockets, *self._open]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def url(self, way: str, account: str) -> str:
        """The address of an account that fails so."""
        return f"http://127.0.0.1:{self.ports[way]}/{account}"

    def _accept(self, way: str, listener: socket.socket, act: Way) -> None:
        while not self._over:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(way, peer, act), daemon=True).start()

    def _serve(self, way: str, peer: socket.socket, act: Way) -> None:
        peer.settimeout(PATIENCE)
        with self._lock:
            self._open.add(peer)
        with contextlib.suppress(OSError):
            if way not in UNHEARD:
                head = read_head(peer)
                with self._lock:
                    self.heads.append((way, head))
            act(peer, self)
        with self._lock:
            self._open.discard(peer)
        peer.close()


def read_head(peer: socket.socket) -> bytes:
    """Reads to the end of a request's head, and perhaps a part of its body."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = peer.recv(1 << 16)
        if not piece:
            break
        head += piece
    return head


def _fin(peer: socket.socket, _: Failing) -> None:
    peer.shutdown(socket.SHUT_WR)
    # What is unread when a socket is closed makes the kernel send RST.
    while peer.recv(1 << 16):
        pass


def _rst(peer: socket.socket, _: Failing) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)


def _says(text: bytes, then: Way = _fin) -> Way:
    def act(peer: socket.socket, failing: Failing) -> None:
        peer.sendall(text)
        then(peer, failing)

    return act


def _hang(peer: socket.socket, failing: Failing) -> None:
    while not failing._over and peer.recv(1 << 16):
        pass


#: Every way; `None`: nobody listens.
WAYS: dict[str, Way | None] = {
    "refuses": None,
    "closes at once": _fin,
    "resets at once": _rst,
    "closes after the head": _fin,
    "resets after the head": _rst,
    "breaks off in its head": _says(b"HTTP/1.1 200 OK\r\ncontent-ty"),
    "goes on and breaks off": _says(b"HTTP/1.1 100 Continue\r\n\r\n", _rst),
    "speaks no HTTP": _says(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "has an endless head": _says(b"HTTP/1.1 200 OK\r\n" + b"x-long: " + b"x" * 200_000),
    "contradicts itself": _says(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello"),
    "hangs": _hang,
}
#: Those that wait for no request.
UNHEARD = ("closes at once", "resets at once")
