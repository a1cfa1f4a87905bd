"""An upstream that records what arrives, byte for byte, and answers as the test says."""

from __future__ import annotations

import dataclasses
import json
import socket
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Optional, Union

from loopback import serve_each

#: The header by which a request is found again, and its answer chosen.
MARKER = "x-case"
#: How long an answer waits for its event at most, in seconds.
PATIENCE = 60.0


Step = Union[bytes, threading.Event]
#: What is answered, in order: bytes, and events that are waited for.
Script = Sequence[Step]


@dataclasses.dataclass
class Arrived:
    """One request as it arrived."""

    method: str
    target: str
    #: In order, names in lower case.
    headers: list[tuple[str, str]]
    body: bytes = b""
    #: The end of the request has arrived.
    complete: bool = False
    #: No more will arrive: it is complete, or its connection has ended.
    settled: bool = False

    def header(self, name: str) -> Optional[str]:
        """The first header of this name."""
        return next((value for key, value in self.headers if key == name), None)

    def json(self) -> Any:
        return json.loads(self.body)


class Recorder:
    """HTTP/1.1 on loopback, one request a connection. The header `x-case` says which request it is."""

    def __init__(self) -> None:
        self._scripts: dict[str, Script] = {}
        self._arrived: dict[str, list[Arrived]] = {}
        self._lock = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=serve_each, args=(self._listener, self._serve), daemon=True)

    def __enter__(self) -> Recorder:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def teach(self, marker: str, script: Script) -> None:
        """What to answer to the request with this marker."""
        self._scripts[marker] = script

    def arrived(self, marker: str) -> list[Arrived]:
        """What has arrived of it so far; each retry is one."""
        with self._lock:
            return list(self._arrived.get(marker, []))

    def wait(self, marker: str, *, complete: bool = False, size: int = 0, timeout: float = 10.0) -> Arrived:
        """Returns when its head is there, so much of its body, or (`complete`) all of it."""

        def ready() -> Optional[Arrived]:
            found = self._arrived.get(marker, [])
            good = [one for one in found if (one.complete or not complete) and len(one.body) >= size]
            return good[-1] if good else None

        with self._lock:
            assert self._lock.wait_for(lambda: ready() is not None, timeout), f"{marker}: {self._arrived.get(marker)}"
            found = ready()
            assert found
            return found

    def settled(self, marker: str, timeout: float = 10.0) -> list[Arrived]:
        """All that arrived of it, once no more of any of it can."""
        deadline = time.monotonic() + timeout
        with self._lock:
            while not all(one.settled for one in self._arrived.get(marker, [])):
                assert self._lock.wait(deadline - time.monotonic()), f"{marker}: {self._arrived.get(marker)}"
            return list(self._arrived.get(marker, []))

    # ---- Connections

    def _serve(self, peer: socket.socket) -> None:
        with peer, peer.makefile("rb") as file:
            arrived: Optional[Arrived] = None
            try:
                lines = []
                for line in iter(file.readline, b"\r\n"):
                    if not line:
                        return
                    lines.append(line.decode("latin-1").rstrip("\r\n"))
                method, target, _ = lines[0].split(" ", 2)
                pairs = (line.partition(":") for line in lines[1:])
                arrived = Arrived(method, target, [(name.strip().lower(), value.strip()) for name, _, value in pairs])
                marker = arrived.header(MARKER) or ""
                with self._lock:
                    self._arrived.setdefault(marker, []).append(arrived)
                    self._lock.notify_all()
                self._read_body(file, arrived)
                self._play(peer, self._scripts.get(marker) or [ok()])
            except (OSError, ValueError):
                return  # Whoever asked has gone.
            finally:
                if arrived:
                    with self._lock:
                        arrived.settled = True
                        self._lock.notify_all()

    def _read_body(self, file: Any, arrived: Arrived) -> None:
        def got(piece: bytes) -> None:
            with self._lock:
                arrived.body += piece
                self._lock.notify_all()

        if arrived.header("transfer-encoding") == "chunked":
            while size := int(file.readline(), 16):
                if not self._read(file, size, got) or file.read(2) != b"\r\n":
                    return
            while line := file.readline():
                if line == b"\r\n":
                    break
            else:
                return
        elif not self._read(file, int(arrived.header("content-length") or 0), got):
            return
        with self._lock:
            arrived.complete = arrived.settled = True
            self._lock.notify_all()

    @staticmethod
    def _read(file: Any, size: int, got: Any) -> bool:
        while size:
            piece = file.read1(size)
            if not piece:
                return False
            got(piece)
            size -= len(piece)
        return True

    @staticmethod
    def _play(peer: socket.socket, script: Script) -> None:
        for step in script:
            if isinstance(step, bytes):
                peer.sendall(step)
            else:
                step.wait(PATIENCE)


# ---- Answers


def head(status: str = "200 OK", content_type: str = "application/json", *more: str, length: Optional[int]) -> bytes:
    """The head of an answer; one without a length is chunked."""
    framing = "transfer-encoding: chunked" if length is None else f"content-length: {length}"
    lines = [f"HTTP/1.1 {status}", f"content-type: {content_type}", framing, "connection: close", *more]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def whole(body: Union[bytes, Any], status: str = "200 OK", content_type: str = "application/json", *more: str) -> bytes:
    """A whole answer with its length."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(status, content_type, *more, length=len(data)) + data


def chunk(data: bytes) -> bytes:
    """A chunk of an answer; an empty one ends it."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def stream(*pieces: Step, content_type: str = "text/event-stream", end: bool = True, more: Sequence[str] = ()) -> Script:
    """A chunked answer: each piece of bytes is a chunk, other steps stand as they are."""
    steps: list[Step] = [head("200 OK", content_type, *more, length=None)]
    steps += [chunk(piece) if isinstance(piece, bytes) else piece for piece in pieces]
    return [*steps, chunk(b"")] if end else steps


def ok() -> bytes:
    """What is answered to a request that nothing was said about: not what any protocol reports usage by."""
    return whole({"ok": True})
