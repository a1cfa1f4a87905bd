"""What a log line can be sent to, beside a file: an OpenTelemetry collector, an access log service."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import h2.config
import h2.connection
import h2.events
from loopback import Handler, LoopbackServer


class Received:
    """The bytes that have come, by path."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes: dict[str, bytearray] = {}
        self.port = 0

    def add(self, path: str, data: bytes) -> None:
        with self._lock:
            self._bytes.setdefault(path, bytearray()).extend(data)

    def at(self, path: str) -> bytes:
        with self._lock:
            return bytes(self._bytes.get(path, b""))


@contextmanager
def collector() -> Iterator[Received]:
    """A collector of OTLP over HTTP that takes whatever comes."""
    received = Received()

    class Takes(Handler):
        def do_POST(self) -> None:
            # Envoy sends it in chunks.
            while size := int(self.rfile.readline(), 16):
                received.add(self.path, self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

    with LoopbackServer(Takes) as server:
        received.port = server.port
        yield received


@contextmanager
def access_log_service() -> Iterator[Received]:
    """A gRPC server that reads what is streamed to it, and never answers more than its head."""
    received = Received()
    server = socket.create_server(("127.0.0.1", 0))
    received.port = server.getsockname()[1]
    threading.Thread(target=_accept, args=(server, received), daemon=True).start()
    try:
        yield received
    finally:
        server.close()


def _accept(server: socket.socket, received: Received) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return  # closed: the test is over
        threading.Thread(target=_serve, args=(connection, received), daemon=True).start()


def _serve(connection: socket.socket, received: Received) -> None:
    protocol = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    protocol.initiate_connection()
    paths: dict[int, str] = {}
    with connection:
        connection.sendall(protocol.data_to_send())
        while data := connection.recv(65536):
            for event in protocol.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    paths[event.stream_id] = dict(event.headers)[":path"]
                    head = [(":status", "200"), ("content-type", "application/grpc")]
                    protocol.send_headers(event.stream_id, head)
                elif isinstance(event, h2.events.DataReceived):
                    received.add(paths[event.stream_id], event.data)
                    protocol.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            connection.sendall(protocol.data_to_send())
