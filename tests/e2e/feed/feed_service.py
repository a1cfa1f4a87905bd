"""A service with feeds of keys, which fails as it is told to."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional
from urllib.parse import parse_qs, urlsplit

from e2e.feed.feed_keys import Keys
from loopback import Handler, LoopbackServer

PATH = "/keys"


@dataclass
class Asked:
    """One request for a page."""

    at: float
    target: str
    limit: int
    cursor: Optional[str]
    headers: dict[str, str]
    #: The status that was answered; 0 before, and where there was no answer.
    status: int = 0
    #: Whether the answer said that there is no more. A page that was spoilt never does.
    complete: bool = False


@dataclass
class Answer:
    """What is sent: a status, a body, and of that perhaps only a part before the connection ends."""

    status: int
    body: bytes
    part: Optional[int] = None
    headers: tuple[tuple[str, str], ...] = ()


#: What becomes of a good answer: another one, or none at all and the end of the connection.
Fault = Callable[[Asked, int, Any], Optional[Answer]]


class FeedService:
    """Feeds on loopback, one a path."""

    def __init__(self) -> None:
        self.keys = Keys()
        self.paths = {PATH: self.keys}
        self.fault: Optional[Fault] = None
        #: While this is cleared, answers wait.
        self.go = threading.Event()
        self.go.set()
        self.asked: list[Asked] = []
        self.port = 0
        self._server: Optional[LoopbackServer] = None
        self._connections: set[socket.socket] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    # ---- Life

    def up(self) -> FeedService:
        """Listens, at the same port as before."""
        self._server = LoopbackServer(_handler(self), port=self.port).start()
        self.port = self._server.port
        return self

    def down(self) -> None:
        """Listens no more; connections end."""
        server, self._server = self._server, None
        if server:
            server.stop()
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended by itself

    def stop(self) -> None:
        self.go.set()
        self.down()

    # ---- One request

    def answer(self, target: str, headers: dict[str, str]) -> Optional[Answer]:
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True)
        cursor = query.get("cursor", [None])[0]
        asked = Asked(time.monotonic(), target, int(query["limit"][0]), cursor, headers)
        self.asked.append(asked)
        self.go.wait(30)
        keys = self.paths.get(parts.path)
        status, page = keys.page(cursor, asked.limit) if keys else (404, {})
        fault = self.fault
        given = fault(asked, status, page) if fault else Answer(status, json.dumps(page).encode())
        asked.status = given.status if given else 0
        asked.complete = fault is None and status == 200 and not page["more"]
        return given


def _handler(service: FeedService) -> type[Handler]:
    class Answers(Handler):
        def do_GET(self) -> None:
            given = service.answer(self.path, {name.lower(): value for name, value in self.headers.items()})
            if given is None:
                self.close_connection = True
                return
            self.send_response(given.status)
            for name, value in given.headers:
                self.send_header(name, value)
            if given.status not in (204, 304):
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(given.body)))
            self.end_headers()
            if given.status not in (204, 304):
                self.wfile.write(given.body[: given.part])
            if given.part is not None:
                self.close_connection = True

        def setup(self) -> None:
            super().setup()
            service._connections.add(self.connection)

        def finish(self) -> None:
            service._connections.discard(self.connection)
            super().finish()

    return Answers


# ---- Faults


def status(code: int, **headers: str) -> Fault:
    """This status, with the good page as its body, which must not be taken."""
    return lambda _asked, _status, page: Answer(code, json.dumps(page).encode(), headers=tuple(headers.items()))


def body(text: bytes) -> Fault:
    return lambda _asked, _status, _page: Answer(200, text)


def cut(_asked: Asked, _status: int, page: Any) -> Answer:
    """Half of the page, then the end of the connection."""
    text = json.dumps(page).encode()
    return Answer(200, text, part=len(text) // 2)


def half(_asked: Asked, _status: int, page: Any) -> Answer:
    """Half of the page, as if it were all."""
    text = json.dumps(page).encode()
    return Answer(200, text[: len(text) // 2])


def hang_up(_asked: Asked, _status: int, _page: Any) -> None:
    """No answer."""


def spoilt(spoil: Callable[[Any], Any]) -> Fault:
    """The good page, after `spoil` was at a copy of it."""

    def fault(_asked: Asked, code: int, page: Any) -> Answer:
        copy = json.loads(json.dumps(page))
        if code == 200:
            changed = spoil(copy)
            copy = copy if changed is None else changed
        return Answer(code, json.dumps(copy).encode())

    return fault
