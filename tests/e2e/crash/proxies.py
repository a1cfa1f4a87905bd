"""Proxies that see where a transaction is, and strike there.

They pass whole messages on. Before a message of a kind that a `Trap` waits for is passed on, the trap's blow is dealt: a process is
killed, or the connection is cut. So every boundary is hit for certain, and nothing in the programs has to help.
"""

from __future__ import annotations

import itertools
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Optional

#: What a console says to PostgreSQL while it takes a batch in, in its order; `committed` is the answer to `commit`, not yet passed on.
DATABASE_BOUNDARIES = ("lock", "position", "requests", "hours", "spend", "use", "commit", "committed")
#: What an agent and a console say to each other: before the batch, in the midst of it, behind it, before and in the midst of the answer.
HTTP_BOUNDARIES = ("batch", "half the batch", "the whole batch", "answer", "half the answer")
#: The statements of an intake, by how they begin.
_STATEMENTS = {
    "INSERT INTO ledger_files": "lock",
    "UPDATE ledger_files": "position",
    "INSERT INTO requests": "requests",
    "INSERT INTO usage_by_hour": "hours",
    "INSERT INTO spend": "spend",
    "INSERT INTO key_use": "use",
}


class Cut(Exception):
    """The connection is to be cut."""


class Trap:
    """Waits for one boundary, and strikes once."""

    def __init__(self, boundary: str, blow: Callable[[str], None]) -> None:
        """`blow` gets the name of the proxy, and may raise `Cut`."""
        self.boundary = boundary
        self._blow = blow
        self._armed = threading.Lock()
        self.sprung = threading.Event()

    def passes(self, proxy: str, boundary: str) -> None:
        if boundary == self.boundary and self._armed.acquire(blocking=False):
            try:
                self._blow(proxy)
            finally:
                self.sprung.set()


class Traps:
    """The trap that is set, if there is one."""

    def __init__(self) -> None:
        self._set: Optional[Trap] = None

    def lay(self, trap: Optional[Trap]) -> None:
        self._set = trap

    def passes(self, proxy: str, boundary: str) -> None:
        if trap := self._set:
            trap.passes(proxy, boundary)


class Proxy:
    """Listens on loopback, and has a thread for each connection."""

    def __init__(self, name: str, traps: Traps) -> None:
        self.name = name
        self._traps = traps
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def at(self, boundary: str) -> None:
        self._traps.passes(self.name, boundary)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            self.serve(client)
        except (OSError, EOFError, Cut):
            pass
        finally:
            client.close()

    def serve(self, client: socket.socket) -> None:
        raise NotImplementedError


class _Reader:
    """Reads whole messages off a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rb")

    def exactly(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def head(self) -> bytes:
        """An HTTP head."""
        lines = []
        while not lines or lines[-1] != b"\r\n":
            line = self._file.readline(65536)
            if not line.endswith(b"\n"):
                raise EOFError
            lines.append(line)
        return b"".join(lines)

    def http(self) -> tuple[bytes, bytes]:
        """An HTTP message with a length, as agents and consoles send them."""
        head = self.head()
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            assert name.lower() != b"transfer-encoding", head
            if name.lower() == b"content-length":
                length = int(value)
        return head, self.exactly(length)


class HttpProxy(Proxy):
    """Between an agent and consoles: every request goes to another one of them, as behind a load balancer."""

    def __init__(self, name: str, traps: Traps, consoles: Sequence[tuple[str, int]]) -> None:
        """`consoles`: names and ports."""
        self._consoles = consoles
        self._turn: Iterator[int] = itertools.count()
        #: The console that has got the last batch, and that batch.
        self.console = ""
        self._last = b""
        super().__init__(name, traps)

    def serve(self, client: socket.socket) -> None:
        agent = _Reader(client)
        while True:
            head, body = agent.http()
            console, port = self._consoles[next(self._turn) % len(self._consoles)]
            with socket.create_connection(("127.0.0.1", port), timeout=40) as upstream:
                upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if head.startswith(b"POST /api/v1/ledger/"):
                    self.console = console
                    self._batch(client, upstream, head, body)
                else:
                    upstream.sendall(head + body)
                    client.sendall(b"".join(_Reader(upstream).http()))

    def again(self) -> tuple[int, dict[str, Any]]:
        """Passes the last batch on once more, as a proxy does that has not seen the answer: status and answer. 0: there is none."""
        if not self._last:
            return 0, {}
        _, port = self._consoles[next(self._turn) % len(self._consoles)]
        with socket.create_connection(("127.0.0.1", port), timeout=40) as upstream:
            upstream.sendall(self._last)
            head, body = _Reader(upstream).http()
        return int(head.split()[1]), json.loads(body)

    def _batch(self, client: socket.socket, upstream: socket.socket, head: bytes, body: bytes) -> None:
        self._last = head + body
        self.at("batch")
        half = len(body) // 2
        upstream.sendall(head + body[:half])
        self.at("half the batch")
        upstream.sendall(body[half:])
        self.at("the whole batch")
        answer = b"".join(_Reader(upstream).http())
        self.at("answer")
        client.sendall(answer[:-5])
        self.at("half the answer")
        client.sendall(answer[-5:])


class PostgresProxy(Proxy):
    """Between a console and PostgreSQL."""

    def __init__(self, name: str, traps: Traps, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        super().__init__(name, traps)

    def serve(self, client: socket.socket) -> None:
        server = self._connect()
        taking = threading.Event()
        back = threading.Thread(target=self._back, args=(client, server, taking), daemon=True)
        try:
            self._forth(client, server, taking, back)
        finally:
            _end(server)
            server.close()

    def _forth(self, client: socket.socket, server: socket.socket, taking: threading.Event, back: threading.Thread) -> None:
        """What the console says. `taking`: it takes a batch in."""
        console = _Reader(client)
        length = console.exactly(4)
        server.sendall(length + console.exactly(struct.unpack("!I", length)[0] - 4))
        back.start()
        statements: dict[bytes, str] = {}
        while True:
            kind, body, message = _message(console)
            if kind == b"P":
                name, text = body.split(b"\0")[:2]
                known = (word for start, word in _STATEMENTS.items() if text.decode().startswith(start))
                statements[name] = next(known, "")
            elif kind == b"B":
                word = statements.get(body.split(b"\0")[1], "")
                if word == "lock":
                    taking.set()
                if word and taking.is_set():
                    self.at(word)
            elif kind == b"Q" and body.startswith(b"COMMIT") and taking.is_set():
                self.at("commit")
            elif kind == b"Q" and body.startswith(b"ROLLBACK"):
                taking.clear()
            server.sendall(message)

    def _back(self, client: socket.socket, server: socket.socket, taking: threading.Event) -> None:
        """What PostgreSQL says."""
        try:
            postgres = _Reader(server)
            while True:
                kind, body, message = _message(postgres)
                if kind == b"C" and body.startswith(b"COMMIT") and taking.is_set():
                    taking.clear()
                    self.at("committed")
                client.sendall(message)
        except (OSError, EOFError, Cut):
            pass
        finally:
            _end(client)
            _end(server)


def _end(connection: socket.socket) -> None:
    """Ends a connection, though another thread reads from it."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _message(reader: _Reader) -> tuple[bytes, bytes, bytes]:
    """A message of PostgreSQL's protocol: its kind, its body, all of it."""
    kind, length = reader.exactly(1), reader.exactly(4)
    body = reader.exactly(struct.unpack("!I", length)[0] - 4)
    return kind, body, kind + length + body
