"""Servers of HTTP on loopback, for upstreams, services and receivers that a test plays itself."""

from __future__ import annotations

import socket
import ssl
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Optional, TypeVar

_Self = TypeVar("_Self", bound="LoopbackServer")


def serve_each(listener: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    """Serves each connection in a thread of its own, until the listener is closed."""
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(peer,), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """One connection. It stays open from request to request, and what comes is not logged."""

    protocol_version = "HTTP/1.1"
    # A head and its body are two writes: the second one would wait for the client's acknowledgement.
    disable_nagle_algorithm = True

    def read_body(self) -> bytes:
        """The request's body, which has a length or is empty."""
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def respond(self, status: int, body: bytes, content_type: str = "application/json", **headers: str) -> None:
        """Sends a whole response."""
        self.send_response(status)
        self.send_header("content-type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


class LoopbackServer:
    """A server with a thread for each connection. Use it as a context manager, or call `start` and `stop`."""

    def __init__(
        self, handler: type[BaseHTTPRequestHandler], *, host: str = "127.0.0.1", port: int = 0, certificate: Optional[Path] = None
    ) -> None:
        """Takes the port, by default a free one; connections wait until `start`.

        `certificate` is a directory with `server.crt` and `server.key`: then it speaks TLS.
        """
        self._server = _Server((host, port), handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate / "server.crt", certificate / "server.key")
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.host = host
        self.port = int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """Its `host:port`."""
        return f"{self.host}:{self.port}"

    def start(self: _Self) -> _Self:
        """Answers from now on."""
        often = {"poll_interval": 0.02}  # `stop` waits for the next look
        threading.Thread(target=self._server.serve_forever, kwargs=often, daemon=True).start()
        return self

    def stop(self) -> None:
        """Listens no more. Connections that there are go on."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self: _Self) -> _Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Envoy opens many connections at once.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client may hang up at any time; anything else is a mistake of the handler's, and printed."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
