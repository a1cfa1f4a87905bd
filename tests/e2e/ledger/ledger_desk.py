"""One exchange, sent so that its records can be told from all others: each takes a key of its own."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import select
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Optional, Union

from e2e.fresh_keys import FreshKeys
from e2e.ledger.ledger_document import KEYS, key_id, key_value
from e2e.ledger_reader import Ledger, Record
from e2e.raw import Answer, Header, Http1, Http2
from e2e.simulator import Simulator, steering
from e2e.support import credential_for
from e2e.vitals import stats
from stack import Stack

WIRES = ["h1", "h2"]


class Client1(Http1):
    """HTTP/1.1, leaving in the middle."""

    answer_now: Optional[Answer] = None

    def post(self, head: Post) -> None:
        self.head(head.method, head.path, [*head.headers, *head.length])
        if head.part:
            self.send(head.part)

    def more(self, data: bytes, *, end: bool = False) -> None:
        if data:
            self.send(data)

    def await_answer(self) -> Answer:
        """The answer's head; its body follows with `await_match` or `rest`."""
        if self.answer_now is None:
            self.answer_now = self.next_head()
        return self.answer_now

    def await_match(self, token: bytes) -> None:
        """Waits until the body, framing and all, has this."""
        self.await_answer()
        while not re.search(token, self._pending, re.S):
            assert self._fill(), f"the answer ended before {token!r}: {self._pending[-300:]!r}"

    def rest(self) -> Answer:
        answer = self.await_answer()
        if answer.status:
            self.read_body(answer)
        return answer

    def leave(self) -> None:
        self.reset()

    def linger(self, seconds: float) -> bytes:
        """Waits until nothing has come for so long; gives what there is of the body."""
        while select.select([self.sock], [], [], seconds)[0] and self._fill():
            pass
        if self.await_answer().header("transfer-encoding") != "chunked":
            return self._pending
        body, rest = b"", self._pending
        while found := re.match(rb"([0-9a-fA-F]+)\r\n", rest):
            size = int(found[1], 16)
            body += rest[found.end() :][:size]
            rest = rest[found.end() + size + 2 :]
        return body


class Client2(Http2):
    """HTTP/2 with prior knowledge, one stream, leaving in the middle."""

    stream = 0

    def post(self, head: Post) -> None:
        whole = head.whole
        self.stream = self.start(head.method, head.path, [*head.headers, *head.length], end=whole and not head.part)
        if head.part:
            self.data(self.stream, head.part, end=whole)

    def more(self, data: bytes, *, end: bool = False) -> None:
        self.data(self.stream, data, end=end)

    def await_answer(self) -> Answer:
        return self.await_head(self.stream)

    def await_match(self, token: bytes) -> None:
        answer = self.answers[self.stream]
        while not re.search(token, answer.body, re.S):
            assert not self.is_over(self.stream), f"the answer ended before {token!r}: {answer}"
            self._pump()

    def rest(self) -> Answer:
        return self.answer(self.stream)

    def linger(self, seconds: float) -> bytes:
        while not self.is_over(self.stream) and select.select([self.sock], [], [], seconds)[0]:
            self._pump()
        return self.answers[self.stream].body

    def leave(self) -> None:
        self.reset(self.stream)
        # What is queued must be on its way before the connection goes.
        self.sock.close()


Client = Union[Client1, Client2]


@dataclasses.dataclass
class Post:
    """A request as it is sent."""

    method: str
    path: str
    headers: list[Header]
    body: Optional[bytes]
    #: What is sent of the body at first; all of it unless the case says otherwise.
    part: bytes = b""
    whole: bool = True
    length: list[Header] = dataclasses.field(default_factory=list)


Act = Callable[["Sent", Client], Optional[Answer]]


@dataclasses.dataclass
class Sent:
    """An exchange that is over for the client."""

    desk: Desk
    wire: str
    group: str
    key: str
    marker: str
    post: Post
    answer: Optional[Answer] = None
    #: The body of an answer that the client left in the middle, as far as it had come.
    left: Optional[bytes] = None

    @property
    def got(self) -> Optional[bytes]:
        """What the client has of the answer's body."""
        return self.answer.body if self.answer else self.left

    @property
    def status(self) -> int:
        return self.answer.status if self.answer else 0

    def records(self) -> list[Record]:
        """Its records; there should be one."""
        return self.desk.ledger.of_key(self.key)

    def record(self) -> Record:
        found = self.records()
        assert len(found) == 1, f"{len(found)} records of {self}: {found}"
        return found[0]

    def seen(self) -> list[dict[str, Any]]:
        """What the simulator saw."""
        return self.desk.simulator.seen(self.marker)

    def wait_seen(self, state: str) -> dict[str, Any]:
        return self.desk.simulator.wait_seen(self.marker, state, timeout=10)

    def wait_bytes(self, size: int) -> None:
        """Returns when the upstream has so much of the body."""
        deadline = time.monotonic() + 10
        while True:
            entries = self.seen()
            if entries and entries[-1]["body_bytes"] >= size:
                return
            assert time.monotonic() < deadline, f"the upstream never got {size} bytes: {entries}"
            time.sleep(0.01)

    def __repr__(self) -> str:
        return f"{self.wire} {self.post.method} {self.post.path} key {self.key} -> {self.answer}"


def whole(sent: Sent, client: Client) -> Optional[Answer]:
    """The usual client: sends all, reads all."""
    client.post(sent.post)
    return client.rest()


class Desk:
    """Sends requests to one stack and counts them."""

    def __init__(self, stack: Stack, ledger: Ledger) -> None:
        self.stack = stack
        self.ledger = ledger
        self._keys = FreshKeys(key_id, key_value)
        self._markers = itertools.count(1)
        self._lock = threading.Lock()
        self.simulator = Simulator(stack)
        #: Requests sent with each key.
        self.sent: Counter[str] = Counter()
        #: Requests sent without one, or refused before it was looked at.
        self.unkeyed = 0

    def new_key(self, group: str) -> tuple[str, str]:
        """A key of the group that nobody has used: its id and value."""
        key, value = self._keys.take(group, KEYS)
        with self._lock:
            self.sent[key] += 1
        return key, value

    def forget(self, sent: Sent) -> None:
        """The gateway never looked at the key of this one."""
        with self._lock:
            self.sent[sent.key] -= 1
            self.unkeyed += 1

    def new_marker(self) -> str:
        with self._lock:
            return f"ledger{next(self._markers)}"

    def wait_active(self, count: int) -> None:
        """Returns when the gateway has so many requests that are not over."""
        deadline = time.monotonic() + 10
        while (active := sum(stats(self.stack, r"^http\.gateway\.downstream_rq_active$").values())) != count:
            assert time.monotonic() < deadline, f"{active} requests in flight, not {count}"
            time.sleep(0.01)

    def open(
        self,
        group: str,
        path: str,
        body: Any = None,
        *,
        wire: str = "h1",
        method: Optional[str] = None,
        sim: Optional[dict[str, str]] = None,
        headers: tuple[Header, ...] = (),
        content_type: str = "application/json",
        part: Optional[bytes] = None,
        credential: Optional[tuple[Header, ...]] = None,
        length: bool = True,
    ) -> tuple[Sent, Client]:
        """A request still to be sent, and a connection for it."""
        key, value = self.new_key(group)
        marker = self.new_marker()
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = tuple(credential_for(path, value).items()) if credential is None else credential
        given = tuple((name, str(text).replace("{key}", value)) for name, text in given)
        all_headers: list[Header] = [*given, *headers, ("x-sim-marker", marker)]
        all_headers += steering(sim or {}).items()
        if data is not None:
            all_headers.append(("content-type", content_type))
        post = Post(method or ("GET" if data is None else "POST"), path, all_headers, data)
        post.part = (data or b"") if part is None else part
        post.whole = part is None
        if data is not None and length:
            post.length = [("content-length", str(len(data)))]
        sent = Sent(self, wire, group, key, marker, post)
        client: Client = (Client1 if wire == "h1" else Client2)(self.stack.base_url)
        return sent, client

    def send(self, group: str, path: str, body: Any = None, *, act: Act = whole, **how: Any) -> Sent:
        """Sends one request and lets `act` do what the client does. `part` is sent instead of the whole body."""
        sent, client = self.open(group, path, body, **how)
        with client:
            sent.answer = act(sent, client)
        return sent
