"""A listener in front of an upstream that keeps every byte of the clients: what is secret may not be among them."""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
from types import TracebackType
from typing import Optional

#: The first bytes of a TLS connection (RFC 8446, 5.1): a record of the handshake, of any version.
TLS_HANDSHAKE = b"\x16\x03"


class Wiretap:
    """Passes on what comes; without somebody to pass it on to, it takes connections and never says a word."""

    def __init__(self, to: Optional[int] = None) -> None:
        """`to` is the upstream's port on loopback. It listens on both addresses of `localhost`, if there are two."""
        self._to = to
        self._listeners = _both_loopbacks()
        self.port = int(self._listeners[0].getsockname()[1])
        self.has_ipv6 = len(self._listeners) == 2
        #: What was said on each connection so far.
        self.said: list[bytearray] = []
        self._open: list[socket.socket] = []
        self._over = False

    def __enter__(self) -> Wiretap:
        for listener in self._listeners:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        for each in [*self._listeners, *self._open]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self, listener: socket.socket) -> None:
        while not self._over:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            said = bytearray()
            self.said.append(said)
            self._open.append(peer)
            threading.Thread(target=self._serve, args=(peer, said), daemon=True).start()

    def _serve(self, peer: socket.socket, said: bytearray) -> None:
        far = socket.create_connection(("127.0.0.1", self._to)) if self._to else None
        if far:
            self._open.append(far)
            threading.Thread(target=pump, args=(far, peer), daemon=True).start()
        pump(peer, far, said)


def _both_loopbacks() -> list[socket.socket]:
    """Listeners on one port: on 127.0.0.1, and on ::1 if there is one.

    Envoy tries all addresses of a name, and reports what went wrong with the last one only.
    """
    while True:
        four = socket.create_server(("127.0.0.1", 0), backlog=128)
        try:
            six = socket.create_server(("::1", four.getsockname()[1]), family=socket.AF_INET6, backlog=128)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return [four]
            four.close()
            continue
        return [four, six]


def pump(source: socket.socket, sink: Optional[socket.socket], note: Optional[bytearray] = None) -> None:
    """Passes on until the source ends, and then that end. `note` gets what was passed on, also where there is no sink."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            if note is not None:
                note += data
            if sink:
                sink.sendall(data)
    for each in (source, sink):
        if each:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
