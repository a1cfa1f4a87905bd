"""Tokens by the minute: an estimate lets a request in, and what it has used takes the estimate's place."""

from __future__ import annotations

import dataclasses
import json
import time
from contextlib import ExitStack
from typing import Any, Optional

import pytest
from e2e.limits.limited_desk import Call, Desk, body_of, fits, judge_refusal, path_of, told
from e2e.limits.limited_document import Book, Key
from e2e.raw import Http1

BOOK = Book()
#: So many a minute that a test of some milliseconds sees what was used, and not what has drained.
INPUT, OUTPUT = 180_000, 120_000
LIMITS = {"input_tokens_per_minute": INPUT, "output_tokens_per_minute": OUTPUT}
#: The estimate of output where the request sets no cap.
UNCAPPED = 1000
#: What stands in a limit's stead for protocol C, which is told nothing: one request fits.
MANY = 10_000


def estimated(body: bytes) -> int:
    """Input tokens that a body is taken for."""
    return -(-len(body) // 4)


@dataclasses.dataclass(frozen=True)
class Settled:
    """A request, and what must be counted for it in the end; None: what its record says by estimate, which is far less
    than what it was let in on. Without a status the client leaves before it has an answer."""

    name: str
    how: dict[str, Any]
    status: int
    input: Optional[int]
    output: Optional[int]
    protocols: str = "AB"

    def __str__(self) -> str:
        return self.name


HOW: list[Settled] = [
    Settled("less", {"usage": "input=3,output=5"}, 200, 3, 5),
    Settled("more", {"usage": "input=90000,output=80000"}, 200, 90_000, 80_000),
    Settled("cached input and reasoning count", {"usage": "input=10,cache_read=2000,output=20,reasoning=3000"}, 200, 2010, 3020),
    Settled("a stream", {"stream": True, "usage": "input=4000,output=6000"}, 200, 4000, 6000),
    Settled("nothing used", {"usage": "input=0,output=0"}, 200, 0, 0),
    Settled("no usage told", {"scenario": "no-usage"}, 200, None, None),
    Settled("refused upstream", {"status": 400}, 400, 0, 0),
    Settled("failed upstream", {"status": 500}, 500, 0, 0),
    Settled("limited upstream", {"status": 429}, 429, 0, 0),
    Settled("no answer", {"cut": "head"}, 502, 0, 0),
    Settled("left before the answer", {"stall": "head"}, 0, None, None),
    # Protocol B tells the input, and a first token of output, before it begins.
    Settled("broken off before usage was told", {"stream": True, "scenario": "truncated"}, 200, None, None, "A"),
    Settled("broken off", {"stream": True, "scenario": "truncated", "usage": "input=321,output=50000"}, 200, 321, None, "B"),
    Settled("a stream without usage", {"stream": True, "scenario": "no-usage"}, 200, None, None),
    Settled("an error in the stream", {"stream": True, "scenario": "error"}, 200, None, None, "A"),
]  # fmt: skip
KEYS = {(case.name, protocol): BOOK.key(protocol, **LIMITS) for case in HOW for protocol in case.protocols}

CAPS: dict[str, tuple[str, dict[str, Any], int]] = {
    "A: none": ("A", {}, UNCAPPED),
    "A: max_tokens": ("A", {"max_tokens": 7000}, 7000),
    "A: max_completion_tokens": ("A", {"max_completion_tokens": 40}, 40),
    "A: the greater of both": ("A", {"max_tokens": 40, "max_completion_tokens": 6000}, 6000),
    "A: null": ("A", {"max_tokens": None}, UNCAPPED),
    "A: beyond the limit": ("A", {"max_tokens": 10_000_000}, OUTPUT),
    "B: max_tokens": ("B", {"max_tokens": 5000}, 5000),
}
CAPPED = {name: BOOK.key(protocol, **LIMITS) for name, (protocol, _, _) in CAPS.items()}
RESPONSES = BOOK.key("A", **LIMITS)
#: Caps of protocol C show in what still fits.
C_CAPS = {
    "none": ({}, UNCAPPED),
    "generationConfig": ({"generationConfig": {"maxOutputTokens": 4000}}, 4000),
    "generation_config": ({"generation_config": {"max_output_tokens": 4000}}, 4000),
}
C_KEYS = {name: BOOK.key("C", output_tokens_per_minute=MANY) for name in C_CAPS}
C_SETTLED = BOOK.key("C", input_tokens_per_minute=MANY, output_tokens_per_minute=MANY)
LARGE = BOOK.key("A", input_tokens_per_minute=600)
FREE = BOOK.key("C", output_tokens_per_minute=1)
LEFT = {protocol: BOOK.key(protocol, **LIMITS) for protocol in "AB"}
LATE = BOOK.key("A", output_tokens_per_minute=OUTPUT)


def settled_by_estimate(record: dict[str, Any], body: bytes) -> tuple[int, int]:
    """Tokens read and written, as a record by estimate has them."""
    assert record["trilane.usage.status"] == "estimated", record
    read, written = (record.get(f"gen_ai.usage.{kind}_tokens", 0) for kind in ("input", "output"))
    assert read >= estimated(body), record
    assert written <= UNCAPPED // 5, f"what it was let in on: {record}"
    return read, written


def leave(desk: Desk, call: Call) -> None:
    """Sends a request for a stream, and leaves in the middle of it."""
    with Http1(desk.stack.base_url) as client:
        client.head(call.method, call.path, [*call.headers, ("content-length", str(len(call.body or b"")))])
        client.send(call.body or b"")
        head = client.next_head()
        assert head.status == 200, head
        while client._pending.count(b"data:") < 5:
            assert client._fill()
        client.reset()


def tokens(desk: Desk, key: Key, began: float, used_input: int, used_output: int, why: Any) -> None:
    """So much is used of both kinds now."""
    asked = desk.list(key)
    gauges = told(asked)
    assert fits(gauges["tokens"], used_output, began), f"{why}: {used_output} of {OUTPUT}: {asked}"
    if key.protocol == "B":
        assert fits(gauges["input-tokens"], used_input, began), f"{why}: {used_input} of {INPUT}: {asked}"


@pytest.mark.parametrize("case, protocol", [(case, each) for case in HOW for each in case.protocols], ids=str)
def test_what_is_counted_in_the_end(case: Settled, protocol: str, desk: Desk) -> None:
    key = KEYS[case.name, protocol]
    # What was used before: what is given back shows only above nothing.
    primed = time.monotonic()
    assert desk.ask(key, usage="input=20000,output=20000").status == 200
    desk.records(key)
    call = desk.call(key, **case.how)
    if case.status:
        asked = desk.send(call)
        assert asked.status == case.status, f"{case}: {asked}"
    else:
        with Http1(desk.stack.base_url) as client:
            client.head(call.method, call.path, [*call.headers, ("content-length", str(len(call.body or b"")))])
            client.send(call.body or b"")
            desk.wait_seen(call.marker, "request_complete")
            client.reset()
    record = desk.records(key, 2)[-1]
    input_used, output_used = case.input, case.output
    if output_used is None:
        by_estimate = settled_by_estimate(record, call.body or b"")
        input_used = by_estimate[0] if input_used is None else input_used
        output_used = by_estimate[1]
    assert input_used is not None
    tokens(desk, key, primed, 20_000 + input_used, 20_000 + output_used, case)


@pytest.mark.parametrize("protocol", "AB")
def test_a_stream_that_the_client_leaves_counts_what_it_was_estimated(protocol: str, desk: Desk) -> None:
    """Else whoever leaves just before the usage is told would have it all for nothing."""
    key = LEFT[protocol]
    primed = time.monotonic()
    call = desk.call(key, stream=True, events=1000, gap_ms=20, usage="input=7000,output=100000")
    leave(desk, call)
    (record,) = desk.records(key)
    read, written = settled_by_estimate(record, call.body or b"")
    # Protocol B tells the input at once.
    assert read == (7000 if protocol == "B" else estimated(call.body or b"")), record
    tokens(desk, key, primed, read, written, protocol)


#: Ways in which nobody tells what was used.
UNTOLD: dict[str, dict[str, Any]] = {
    "a document without usage": {"scenario": "no-usage"},
    "a stream without usage": {"scenario": "no-usage", "stream": True},
    "a stream that is left": {"stream": True, "events": 1000, "gap_ms": 20, "usage": "input=100,output=30"},
    "a stream that breaks off": {"stream": True, "scenario": "truncated", "usage": "input=100,output=30"},
}
#: So many requests fit where each keeps what it was let in on, and hardly one more drains meanwhile.
RESERVED = 3
TIGHT = {"input_tokens_per_minute": 20_000, "output_tokens_per_minute": RESERVED * UNCAPPED}
UNTOLD_KEYS = {(name, protocol): BOOK.key(protocol, **TIGHT) for name in UNTOLD for protocol in "ABC"}
PASS = 4 * RESERVED


@pytest.mark.parametrize("name, protocol", UNTOLD_KEYS)
def test_what_nobody_tells_does_not_use_up_the_limit(name: str, protocol: str, desk: Desk) -> None:
    """Each is let in on 1000 tokens of 3000, writes a few dozen and reports none: the next ones pass all the same."""
    key, how = UNTOLD_KEYS[name, protocol], UNTOLD[name]
    for count in range(1, PASS + 1):
        if "events" in how:
            leave(desk, desk.call(key, **how))
        else:
            asked = desk.ask(key, **how)
            assert asked.status == 200, f"{name}, {count}: {asked}"
        record = desk.records(key, count)[-1]
        assert record["http.response.status_code"] == 200, f"{name}, {count}: {record}"
        assert record["trilane.usage.status"] == "estimated", f"{name}, {count}: {record}"
        assert record.get("gen_ai.usage.output_tokens", 0) <= UNCAPPED // 5, f"{name}, {count}: {record}"


@pytest.mark.parametrize("name", CAPS)
def test_the_cap_is_the_estimate(name: str, desk: Desk) -> None:
    """While the upstream is at work; and the end corrects it."""
    protocol, members, wanted = CAPS[name]
    key = CAPPED[name]
    began = time.monotonic()
    with desk.held(key, body=body_of(protocol, **members)) as call:
        tokens(desk, key, began, estimated(call.body or b""), wanted, name)


def test_the_cap_of_responses(desk: Desk) -> None:
    began = time.monotonic()
    body = {"model": "gpt-5.1", "input": "Hello", "max_output_tokens": 9000}
    with desk.held(RESPONSES, body=body, path="/v1/responses") as call:
        tokens(desk, RESPONSES, began, estimated(call.body or b""), 9000, call)


def test_a_cap_that_comes_late_is_waited_for(desk: Desk) -> None:
    """The head is held until the body is there, or the inspect window full: but no longer."""
    key = LATE
    head = b'{"model":"gpt-5.1","messages":[{"role":"user","content":"' + b"x" * 4000
    began = time.monotonic()
    call = desk.call(key, body=head, stall="head")
    with Http1(desk.stack.base_url) as client:
        client.head(call.method, call.path, [*call.headers, ("transfer-encoding", "chunked")])
        client.chunk(head)
        time.sleep(0.2)
        assert desk.seen(call.marker) == [], "nothing goes before it is counted"
        client.chunk(b'"}],"max_tokens":4321}')
        client.chunk(b"")
        entry = desk.wait_seen(call.marker, "request_complete")
        assert json.loads(entry["body"])["max_tokens"] == 4321
        tokens(desk, key, began, 0, 4321, call)
    # It was not awaited, and settled by what can have been written in that time.
    used = desk.records(key)[0].get("gen_ai.usage.output_tokens", 0)
    call = desk.call(key, body=b"", stall="head")
    long = b'{"model":"gpt-5.1","messages":[{"role":"user","content":"' + b"x" * 300_000
    with Http1(desk.stack.base_url) as client:
        client.head(call.method, call.path, [*call.headers, ("transfer-encoding", "chunked")])
        client.chunk(long)
        desk.wait_seen(call.marker, "receiving")
        # Not known in time: taken for one that sets none.
        tokens(desk, key, began, 0, used + UNCAPPED, call)


@pytest.mark.parametrize("name", C_CAPS)
def test_caps_of_protocol_c(name: str, desk: Desk) -> None:
    """It is told nothing of what is left, but it meets the same limits: while one is held, as many fit as are left."""
    members, each = C_CAPS[name]
    key = C_KEYS[name]
    fit = MANY // each
    holds = [desk.held(key, body=body_of("C", **members)) for _ in range(fit)]
    with ExitStack() as stack:
        for hold in holds:
            stack.enter_context(hold)
        refused = desk.ask(key, body=body_of("C", **members))
        judge_refusal(refused, scope="key")
        assert "output tokens" in refused.json()["error"]["message"], refused
        assert desk.seen(refused.call.marker) == []


def test_protocol_c_settles(desk: Desk) -> None:
    """Thirty requests, each estimated at a tenth of the limit and settled at a hundredth: more than ten fit."""
    for count in range(1, 31):
        asked = desk.ask(C_SETTLED, usage="input=100,output=100")
        assert asked.status == 200, f"{count}: {asked}"
        desk.records(C_SETTLED, count)
    used = desk.ask(C_SETTLED, usage="input=9000,output=9000", stream=True)
    assert used.status == 200, used
    desk.records(C_SETTLED, 31)
    judge_refusal(desk.ask(C_SETTLED), scope="key")


def test_more_than_a_limit_can_ever_hold_is_let_in_alone(desk: Desk) -> None:
    """And what it has really used is counted: it is waited for."""
    body = body_of("A", user="x" * 4000)
    asked = desk.ask(LARGE, body=body, usage="input=610,output=1")
    assert asked.status == 200, asked
    desk.records(LARGE)
    refused = desk.ask(LARGE, body=body)
    judge_refusal(refused, scope="key")
    # 610 at ten a second, and all of it must have drained.
    assert 55 <= int(refused.header("retry-after") or "") <= 61, refused


def test_what_makes_no_tokens_needs_none(desk: Desk) -> None:
    """Counting tokens is forwarded where the key's output is used up."""
    assert desk.ask(FREE, usage="input=1,output=1").status == 200
    desk.records(FREE)
    judge_refusal(desk.ask(FREE), scope="key")
    path = path_of("C").replace("generateContent", "countTokens")
    assert desk.ask(FREE, path=path).status == 200
