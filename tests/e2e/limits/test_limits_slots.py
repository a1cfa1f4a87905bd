"""Concurrent requests: however one ends, its slot is free; and one that goes on keeps it, however long it takes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from bench.drills.filter_file import crashing
from e2e.ledger_reader import Record
from e2e.limits.lasting import take
from e2e.limits.limited_desk import Call, Desk, judge_refusal, poll
from e2e.limits.limited_document import Book
from e2e.raw import Http1, Http2
from e2e.support import run_dir
from e2e.vitals import machines
from stack import WASM

BOOK = Book()

#: How long after its end a slot may be taken, in seconds: an abort must get to the upstream's side first.
SOON = 3.0
#: What Envoy does after a second of silence in a stream.
IDLE = "idle_timeout: 600s # a stream may last"
#: A request with more headers crashes the filter here, and nothing else is changed in it.
MANY_HEADERS = 50
#: For how long a VM that is gone keeps what it held, and for how long one that lives has it at a time.
LEASE = 30.0

Client = Any


@dataclasses.dataclass(frozen=True)
class Ending:
    """A request that takes a slot, and how it ends."""

    name: str
    #: What the client does once the upstream has it.
    act: Callable[[Client, Call], None]
    how: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: What the upstream is doing then.
    state: str = "request_complete"
    wire: str = "h1"
    #: What is sent of the body at first, where that is not all: as chunks.
    part: bytes = b""
    outcome: str = ""

    def __str__(self) -> str:
        return self.name


class Chunked:
    """One request over either version of HTTP, whose body may come in parts."""

    def __init__(self, url: str, ending: Ending, call: Call) -> None:
        self.h1 = Http1(url) if ending.wire == "h1" else None
        self.h2 = None if self.h1 else Http2(url)
        self.stream = 0
        body = ending.part or call.body or b""
        if self.h1:
            framing = ("transfer-encoding", "chunked") if ending.part else ("content-length", str(len(body)))
            self.h1.head(call.method, call.path, [*call.headers, framing])
            if ending.part:
                self.h1.chunk(body)
            else:
                self.h1.send(body)
        elif self.h2:
            self.stream = self.h2.start(call.method, call.path, call.headers)
            self.h2.data(self.stream, body, end=not ending.part)

    def more(self, data: bytes) -> None:
        """The rest of the body."""
        if self.h1:
            self.h1.chunk(data)
        elif self.h2:
            self.h2.data(self.stream, data)

    def read(self) -> int:
        """The whole answer, or what comes of it; its status."""
        return (self.h1.answer() if self.h1 else self.h2.answer(self.stream)).status  # type: ignore[union-attr]

    def first_byte(self) -> None:
        if self.h1:
            self.h1.next_head()
        elif self.h2:
            self.h2.await_body(self.stream, 1)

    def leave(self) -> None:
        """Like a process that is killed; over HTTP/2 the stream alone goes."""
        if self.h1:
            self.h1.reset()
        elif self.h2:
            self.h2.reset(self.stream)

    def close(self) -> None:
        (self.h1 or self.h2).sock.close()  # type: ignore[union-attr]


def read(client: Chunked, call: Call) -> None:
    client.read()


def leave(client: Chunked, call: Call) -> None:
    client.leave()


def leave_in_the_middle(client: Chunked, call: Call) -> None:
    client.first_byte()
    client.leave()


def spoil(client: Chunked, call: Call) -> None:
    """The rest of the body is broken: we refuse it after its head has gone."""
    client.more(b"}}")
    assert client.read() == 400


HALF = b'{"model":"gpt-5.1","messages":['
SLOW = {"stream": True, "events": 1000, "gap_ms": 50}
ENDINGS = [
    Ending("answered", read, {"delay_ms": 300}, outcome="finished"),
    Ending("streamed", read, {"stream": True, "events": 6, "gap_ms": 50}, "answering", outcome="finished"),
    Ending("streamed over http/2", read, {"stream": True, "events": 6, "gap_ms": 50}, "answering", "h2", outcome="finished"),
    Ending("the client leaves before the answer", leave, {"stall": "head"}, outcome="client_abort"),
    Ending("the client resets before the answer", leave, {"stall": "head"}, wire="h2", outcome="client_abort"),
    Ending("the client leaves a stream", leave_in_the_middle, SLOW, "answering", outcome="client_abort"),
    Ending("the client resets a stream", leave_in_the_middle, SLOW, "answering", "h2", outcome="client_abort"),
    Ending("the client leaves its upload", leave, part=HALF, state="receiving", outcome="client_abort"),
    Ending("the client resets its upload", leave, part=HALF, state="receiving", wire="h2", outcome="client_abort"),
    Ending("the upstream resets before the answer", read, {"delay_ms": 300, "cut": "head"}, outcome="upstream_failed"),
    Ending("the upstream resets a stream", read, {"stream": True, "gap_ms": 100, "cut": "after=3"}, "answering", outcome="upstream_reset"),
    Ending("the upstream fails", read, {"delay_ms": 300, "status": 500}, outcome="upstream_error"),
    Ending("the upstream does not know us", read, {"delay_ms": 300, "status": 401}, outcome="upstream_failed"),
    Ending("the upstream breaks off its words", read, {"stream": True, "gap_ms": 100, "scenario": "truncated"}, "answering", outcome="truncated"),
    Ending("we refuse what follows", spoil, part=HALF, state="receiving", outcome="refused"),
    Ending("we refuse what follows over http/2", spoil, part=HALF, state="receiving", wire="h2", outcome="refused"),
    Ending("nothing comes in time", read, {"stall": "head"}, outcome="upstream_failed"),
    Ending("nothing more comes in time", read, {"stream": True, "stall": "after=2"}, "answering", outcome="timeout"),
]  # fmt: skip
KEYS = {ending.name: BOOK.key("A", BOOK.group("A", concurrent_requests=1)) for ending in ENDINGS}
REFUSED = BOOK.key("A", concurrent_requests=2, requests_per_minute=1)
#: With room for so many streams.
SLOTS = 12
LASTING = BOOK.key("A", concurrent_requests=SLOTS)
#: Nobody comes or goes with this one, so that nothing but its renewal keeps a lease.
STEADY = BOOK.key("A", concurrent_requests=2)


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    """With a filter that can be crashed, and an Envoy that waits two seconds for the next byte."""
    directory = run_dir("limits-slots")
    directory.mkdir(parents=True, exist_ok=True)
    wasm = directory.resolve() / "crashing.wasm"
    wasm.write_bytes(crashing(WASM.read_bytes(), MANY_HEADERS))
    hasty = (IDLE, IDLE.replace("600s", "2s"))
    with Desk(directory, BOOK, wasm=wasm, extra_substitutions=[hasty]) as running:
        yield running


@pytest.mark.parametrize("ending", ENDINGS, ids=str)
def test_every_ending_gives_the_slot_back(ending: Ending, desk: Desk) -> None:
    key = KEYS[ending.name]
    call = desk.call(key, **ending.how)
    client = Chunked(desk.stack.base_url, ending, call)
    try:
        desk.wait_seen(call.marker, ending.state)
        busy = desk.ask(key)
        assert busy.status == 429, f"{ending}: it has no slot: {busy}"
        judge_refusal(busy, scope="group")
        ending.act(client, call)
        if ending.act in (read, spoil):
            # It is over for the client. What the gateway has still to do takes no time that could be seen.
            time.sleep(0.05)
            again = desk.ask(key)
            assert again.status == 200, f"{ending}: the slot is not free: {again}"
        else:
            poll(lambda: desk.ask(key).status == 200, SOON, f"{ending}: the slot is not free")
    finally:
        client.close()

    def admitted() -> list[Record]:
        return [record for record in desk.records(key) if "trilane.limit" not in record]

    # Two workers may have written them, each when it was its turn: what began first need not stand first.
    poll(lambda: len(admitted()) == 2, 10, f"{ending}: its line is not there")
    first = min(admitted(), key=lambda record: record["timestamp"])
    assert first["trilane.outcome"] == ending.outcome, f"{ending}: {first}"


def test_what_is_refused_for_another_limit_takes_no_slot(desk: Desk) -> None:
    assert desk.ask(REFUSED).status == 200
    for _ in range(5):
        refused = desk.ask(REFUSED)
        assert "requests per minute" in refused.json()["error"]["message"], refused
    assert desk.records(REFUSED, 6)


def crash(desk: Desk) -> None:
    """A request that crashes the VM of the worker that takes it."""
    with Http1(desk.stack.base_url) as client:
        answer = client.request("GET", "/v1/models", [(f"x-crash-{number}", "1") for number in range(MANY_HEADERS + 10)])
    assert answer.status == 503, answer


@pytest.mark.long
def test_a_dead_vm_lets_go_and_a_long_stream_does_not(desk: Desk) -> None:
    """Takes as long as a lease, which is the least that can tell."""
    before = machines(desk.stack)
    with ExitStack() as stack:
        streams = [taken for _ in range(SLOTS) if (taken := take(desk, LASTING, stack))]
        assert len(streams) == SLOTS and take(desk, LASTING, stack) is None, "every slot is taken"
        crash(desk)
        crashed = time.monotonic()

        def states() -> list[str]:
            return [desk.seen(call.marker)[-1]["state"] for _, call in streams]

        poll(lambda: "answer_aborted" in states(), 5, "the crash has broken no stream off")
        time.sleep(1)
        alive = [taken for taken, state in zip(streams, states()) if state == "answering"]
        assert 0 < len(alive) < SLOTS, f"both workers should have had streams: {states()}"
        steady = [take(desk, STEADY, stack) for _ in range(2)]
        assert all(steady), steady
        freed: list[float] = []
        while time.monotonic() < crashed + LEASE + 7:
            late = take(desk, STEADY, stack)
            assert late is None, f"a stream has lost its slot {time.monotonic() - crashed:.1f} s after the crash"
            taken = take(desk, LASTING, stack)
            if taken:
                freed.append(time.monotonic() - crashed)
                streams.append(taken)
            else:
                time.sleep(0.25)
        # The one that crashed has had its last lease at most at that moment; the new ones take what it had.
        assert len(freed) == SLOTS - len(alive), f"{len(alive)} of {SLOTS} streams live on; slots came at {freed}"
        assert max(freed) <= LEASE + 2, freed
        # They have had their slots for longer than a lease lasts, and have them still.
        lasting = [*alive, *steady]
        assert [desk.seen(call.marker)[-1]["state"] for _, call in lasting] == ["answering"] * len(lasting)
        assert take(desk, LASTING, stack) is None
    poll(lambda: all(desk.seen(call.marker)[-1]["state"] == "answer_aborted" for _, call in streams), 10, "all are over")
    with ExitStack() as stack:
        again = [take(desk, LASTING, stack) for _ in range(SLOTS + 1)]
    assert [bool(taken) for taken in again] == [True] * SLOTS + [False], "all slots were given back"
    after = machines(desk.stack)
    assert after["wasm.trilane.vm_reload_success"] > before.get("wasm.trilane.vm_reload_success", 0), after
