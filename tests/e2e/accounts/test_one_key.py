"""What one key can do to the accounts of all: by bodies that it does not end, by answers that it does not read."""

from __future__ import annotations

import hashlib
import itertools
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.accounts.document import MODEL, account
from e2e.accounts.fronts import Front, breaks_off, endless, says
from e2e.accounts.operations import BY_NAME
from e2e.accounts.own_groups import document_of, group_of
from e2e.ledger_reader import kinds
from e2e.raw import Answer, Http1, Http2

CHAT = BY_NAME["chat"]
NUMBERS = itertools.count(1)
#: How long what must not happen is waited for, in seconds.
MOMENT = 0.7


class Source:
    """A source with two accounts of a new group, the second one for the worst case; and the group's three keys."""

    def __init__(self, desk: Desk, first: str, second: Front, **failover: Any) -> None:
        self.desk, self.second = desk, second
        self.name = f"one-key-{next(NUMBERS)}"
        accounts = [account("A", "a1", url=first), account("A", "a2", 1, url=second.url)]
        written = document_of(group_of(self.name, "A", accounts, failover={"set_aside_seconds": 60, **failover}))
        for key in (1, 2):
            value = hashlib.sha256(self.key(key).encode()).hexdigest()
            written["keys"].append({"id": f"{self.name}.{key}", "sha256": value, "group": self.name})
        desk.publish(written)

    def key(self, number: int) -> str:
        return f"sk-client-{self.name}" + (f"-{number}" if number else "")

    def headers(self, key: int) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key(key)}", "content-type": "application/json"}

    def ask(self, key: int, *, stream: bool = False) -> Asked:
        return self.desk.ask(CHAT, headers=self.headers(key), body=body_of(stream=stream))

    def is_out(self) -> bool:
        """Whether the first account is set aside."""
        out = self.desk.set_aside()
        assert out in ([], [(self.name, "a1")]), out
        return bool(out)

    @contextmanager
    def upload(self, key: int, body: bytes, sent: int) -> Iterator[Http1]:
        """A request of whose body only so much is sent."""
        path, _ = CHAT.request()
        with Http1(self.desk.stack.base_url) as client:
            client.head("POST", path, [*self.headers(key).items(), ("content-length", str(len(body)))])
            client.send(body[:sent])
            yield client


def body_of(size: int = 0, *, stream: bool = False) -> bytes:
    said = [{"role": "user", "content": "x" * size}]
    return json.dumps({"model": MODEL["A"], "stream": stream, "messages": said}).encode()


@pytest.fixture
def fronts() -> Iterator[tuple[Front, Front]]:
    with Front() as first, Front() as second:
        yield first, second


def record_of(source: Source, answer: Answer) -> dict[str, Any]:
    request_id = answer.header("x-request-id")
    assert request_id, answer
    return source.desk.ledger.of_request(request_id)


def stall(source: Source, first: Front, key: int) -> None:
    """Sends most of a body until the first account gives it up, and then the rest. The second account gets all of it, and
    nothing before."""
    body = body_of(400_000)
    given_up, begun = first.given_up, source.second.begun
    with source.upload(key, body, 300_000) as client:
        first.wait_given_up(given_up + 1)
        time.sleep(MOMENT)
        assert source.second.begun == begun, "another account was asked for a body that is not whole"
        client.send(body[300_000:])
        answer = client.answer()
    assert answer.status == 200 and answer.complete, answer
    assert source.second.bodies[-1] == body
    record = record_of(source, answer)
    assert kinds(record) == [("a1", "connection")] and record["trilane.account"] == "a2", record


@pytest.mark.parametrize("known", [True, False], ids=["asked directly", "by way of the hop"])
def test_stalled_uploads(accounts: Desk, fronts: tuple[Front, Front], known: bool) -> None:
    """Of one key among two they take nothing away from anybody. Of two keys they do."""
    first, second = fronts
    source = Source(accounts, first.url, second)
    if known:
        assert source.ask(1).status == 200
    else:
        # The second key is in use, though no account has answered yet.
        with source.upload(1, body_of(400_000), 300_000) as client:
            wait_begun(first, 0)
            client.reset()
        first.wait_given_up(1)
    for _ in range(2):
        stall(source, first, 0)
        assert not source.is_out(), "one key took the account away from all"
    if known:
        asked = source.ask(1)
        assert asked.status == 200 and asked.record()["trilane.account"] == "a1", asked.record()
        stall(source, first, 0)
        assert not source.is_out()
    stall(source, first, 2)
    assert source.is_out(), "two keys met the same"


def test_an_only_key_finds_out_at_once(accounts: Desk, fronts: tuple[Front, Front]) -> None:
    """Where nobody else is there to suffer, every kind of failure counts at once."""
    first, second = fronts
    source = Source(accounts, first.url, second)
    stall(source, first, 0)
    assert source.is_out()
    source = Source(accounts, first.url, second)
    first.answer = breaks_off
    assert source.ask(0, stream=True).trouble
    assert source.is_out()


def test_a_client_that_reads_too_late(accounts: Desk, fronts: tuple[Front, Front]) -> None:
    first, second = fronts
    source = Source(accounts, first.url, second)
    assert source.ask(1).status == 200
    first.answer = endless
    for key, out in ((0, False), (0, False), (2, True)):
        given_up = first.given_up
        with reading_nothing(source, key):
            first.wait_given_up(given_up + 1)
        deadline = time.monotonic() + 5
        while source.is_out() != out or (not out and time.monotonic() < deadline - 4):
            assert time.monotonic() < deadline, f"key {key}: {source.is_out()}"
            time.sleep(0.1)


@contextmanager
def reading_nothing(source: Source, key: int) -> Iterator[None]:
    """A client that reads nothing until the end, and then all that is left."""
    path, _ = CHAT.request()
    address = urlsplit(source.desk.stack.base_url)
    body = body_of(stream=True)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(10)
        client.connect((address.hostname, address.port))
        lines = [f"POST {path} HTTP/1.1", "host: x", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in source.headers(key).items()]
        client.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        assert client.recv(12) == b"HTTP/1.1 200"
        yield
        while client.recv(1 << 20):
            pass


def test_streams_that_break_off(accounts: Desk, fronts: tuple[Front, Front]) -> None:
    """An answer's beginning speaks for nobody; its end does."""
    first, second = fronts
    source = Source(accounts, first.url, second)
    assert source.ask(1).status == 200
    good, first.answer = first.answer, breaks_off
    for _ in range(3):
        assert source.ask(0, stream=True).trouble
        assert not source.is_out()
    first.answer = good
    assert source.ask(1).status == 200
    first.answer = breaks_off
    assert source.ask(2, stream=True).trouble
    assert not source.is_out(), "there was a whole answer between the two"
    assert source.ask(0, stream=True).trouble
    assert source.is_out()


@pytest.mark.parametrize("leaves", ["http/1.1", "http/2"])
def test_clients_that_leave_in_the_middle_of_a_body(accounts: Desk, fronts: tuple[Front, Front], leaves: str) -> None:
    """Nobody is to blame, even where it is the only key."""
    first, second = fronts
    source = Source(accounts, first.url, second)
    assert source.ask(0).status == 200
    body = body_of(400_000)
    path, _ = CHAT.request()
    for _ in range(3):
        begun = first.begun
        if leaves == "http/1.1":
            with source.upload(0, body, 300_000) as client:
                wait_begun(first, begun)
                client.reset()
        else:
            with Http2(accounts.stack.base_url) as h2:
                stream = h2.start("POST", path, [*source.headers(0).items(), ("content-length", str(len(body)))])
                assert h2.data(stream, body[:300_000])
                wait_begun(first, begun)
                h2.reset(stream)
        time.sleep(MOMENT)
        assert not source.is_out() and second.begun == 0


def wait_begun(front: Front, before: int) -> None:
    deadline = time.monotonic() + 10
    while front.begun == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("way", ["refuses", "answers 503"])
def test_failures_of_its_own_count_at_once(accounts: Desk, fronts: tuple[Front, Front], way: str) -> None:
    """Whoever is in use, and however much of the body is there."""
    first, second = fronts
    first.answer = says(headers=["connection: close"])
    source = Source(accounts, first.url, second)
    assert source.ask(1).record()["trilane.account"] == "a1"
    if way == "refuses":
        first.close()
    else:
        first.answer, first.is_early = says("503 No", headers=["connection: close"]), True
    body = body_of(400_000)
    with source.upload(0, body, 300_000) as client:
        deadline = time.monotonic() + 10
        while not source.is_out():
            assert time.monotonic() < deadline, "it is not out"
            time.sleep(0.05)
        assert second.begun == 0, "the next attempt waits for the body"
        client.send(body[300_000:])
        answer = client.answer()
    assert answer.status == 200 and second.bodies[-1] == body, answer


@pytest.mark.parametrize(("size", "sent"), [(15 << 20, 14 << 20), (15 << 20, 11 << 20)], ids=["14 MiB", "11 MiB"])
def test_a_long_body_is_not_awaited_for_ever(accounts: Desk, fronts: tuple[Front, Front], size: int, sent: int) -> None:
    """Of a body that is longer than what Envoy may hold twice, the next account gets what there is."""
    first, second = fronts
    source = Source(accounts, first.url, second)
    assert source.ask(1).status == 200
    body = body_of(size)
    with source.upload(0, body, sent) as client:
        first.wait_given_up(1)
        if sent > 12 << 20:
            wait_begun(second, 0)
        else:
            time.sleep(MOMENT)
            assert second.begun == 0
        client.send(body[sent:])
        answer = client.answer()
    assert answer.status == 200 and second.bodies[-1] == body, answer
    assert not source.is_out()
