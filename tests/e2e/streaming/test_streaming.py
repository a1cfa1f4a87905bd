"""Answers that stream: at the upstream's pace, byte for byte, for as long as they last, and how they break off."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Optional, Union

import pytest
from e2e.raw import Answer, Header, Http1, Http2
from e2e.support import Gateway
from stack import Stack

JSON_TYPE: Header = ("content-type", "application/json")
A: tuple[Header, ...] = (("authorization", "Bearer trilane-demo-a"), JSON_TYPE)
B: tuple[Header, ...] = (("x-api-key", "trilane-demo-b"), ("anthropic-version", "2023-06-01"), JSON_TYPE)
C: tuple[Header, ...] = (("x-goog-api-key", "trilane-demo-c"), JSON_TYPE)
GAP = 0.2
EVENTS = 8

_markers = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Stream:
    """A request that is answered by a stream."""

    path: str
    headers: tuple[Header, ...]
    body: bytes
    content_type: str = "text/event-stream"


STREAMS = {
    "A-chat": Stream("/v1/chat/completions", A, b'{"model":"gpt-5.1","stream":true,"messages":[]}'),
    "A-responses": Stream("/v1/responses", A, b'{"model":"gpt-5.1","stream":true,"input":"hi"}'),
    "B": Stream("/v1/messages", B, b'{"model":"claude-opus-4-8","max_tokens":9,"stream":true,"messages":[]}'),
    "C": Stream("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", C, b'{"contents":[]}'),
}
OTHERS = {
    "C-array": Stream("/v1beta/models/gemini-2.5-flash:streamGenerateContent", C, b'{"contents":[]}', "application/json"),
    "A-json": Stream("/v1/chat/completions", A, b'{"model":"gpt-5.1","messages":[]}', "application/json"),
    "B-json": Stream("/v1/messages", B, b'{"model":"claude-opus-4-8","max_tokens":9,"messages":[]}', "application/json"),
}
WIRES = ["h1", "h2", "tls-h1", "tls-h2"]
Client = Union[Http1, Http2]


pytestmark = pytest.mark.usefixtures("filter_lives")


def client_of(stack: Stack, wire: str) -> Client:
    kind = Http2 if wire.endswith("h2") else Http1
    return kind(stack.tls_url, ca_file=stack.ca_file) if wire.startswith("tls") else kind(stack.base_url)


def new_marker() -> tuple[str, Header]:
    marker = f"stream{next(_markers)}"
    return marker, ("x-sim-marker", marker)


def ask(stack: Stack, wire: str, stream: Stream, *more: Header) -> Answer:
    with client_of(stack, wire) as client:
        return client.request("POST", stream.path, (*stream.headers, *more), stream.body)


# ---- Pace: all of these run at once, a pause costs nobody anything


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=32) as threads:
        yield threads


@pytest.fixture(scope="module")
def long_stream(stack: Stack, pool: ThreadPoolExecutor) -> Future[tuple[Answer, float]]:
    """A stream of more than 16 s, of an event a second."""

    def run() -> tuple[Answer, float]:
        start = time.monotonic()
        answer = ask(stack, "tls-h2", STREAMS["B"], ("x-sim-gap-ms", "1000"), ("x-sim-events", "12"))
        return answer, time.monotonic() - start

    return pool.submit(run)


@pytest.fixture(scope="module")
def paced(
    stack: Stack, pool: ThreadPoolExecutor, long_stream: Future[tuple[Answer, float]]
) -> dict[tuple[str, str], Future[Answer]]:
    """Every protocol over every wire, an event each 200 ms."""
    pace = (("x-sim-gap-ms", str(int(GAP * 1000))), ("x-sim-events", str(EVENTS)))
    return {
        (name, wire): pool.submit(ask, stack, wire, stream, *pace) for name, stream in STREAMS.items() for wire in WIRES
    }


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", STREAMS)
def test_events_arrive_as_they_are_sent(paced: dict[tuple[str, str], Future[Answer]], name: str, wire: str) -> None:
    answer = paced[name, wire].result(timeout=60)
    case = f"{name} over {wire}"
    assert answer.status == 200 and answer.complete, f"{case}: {answer}"
    assert (answer.header("content-type") or "").startswith("text/event-stream"), f"{case}: {answer.headers}"
    events = answer.body.count(b"data:")
    assert events >= EVENTS, f"{case}: {events} events"
    times = [moment for moment, _ in answer.pieces]
    gaps = [after - before for before, after in zip(times, times[1:])]
    # The sum can only be that long if the first did not wait for the last; the single gaps, that none waited
    # for the next. A busy machine may delay a few pieces, and then two come close together.
    assert times[-1] - times[0] >= (EVENTS - 1) * GAP * 0.8, f"{case}: all within {times[-1] - times[0]:.2f} s"
    assert sum(gap > GAP / 2 for gap in gaps) >= EVENTS - 3, f"{case}: gaps {gaps}"


# ---- Bytes


#: A stream of a model with prices is asked for its usage.
ASKED = b'"stream":true,"stream_options":{"include_usage":true},"messages"'


def neutral(body: bytes) -> bytes:
    """An answer without the number that the simulator gives each request."""
    return re.sub(rb"sim-?\d+", b"sim", body)


@pytest.mark.parametrize("more", [(), ("x-sim-drip", "1"), ("x-sim-drip", "3"), ("x-sim-drip", "7"), ("x-sim-event-bytes", "100000")], ids=lambda more: "-".join(more) or "plain")  # fmt: skip
@pytest.mark.parametrize("name", [*STREAMS, *OTHERS])
def test_answers_pass_byte_for_byte(stack: Stack, name: str, more: tuple[str, ...]) -> None:
    stream = {**STREAMS, **OTHERS}[name]
    instruction: tuple[Header, ...] = ((more[0], more[1]),) if more else ()
    with Http1(stack.sim_url) as direct:
        is_chat = stream.path == "/v1/chat/completions"
        asked = stream.body.replace(b'"stream":true,"messages"', ASKED) if is_chat else stream.body
        want = direct.request("POST", stream.path, (*stream.headers, *instruction), asked)
    assert want.status == 200 and want.body
    expected = neutral(want.body)
    if asked != stream.body:
        # The one event that the gateway asked for and the client did not.
        usage = [event for event in expected.split(b"\n\n") if b'"choices":[]' in event]
        assert len(usage) == 1 and b'"usage":{' in usage[0], want.body
        expected = expected.replace(usage[0] + b"\n\n", b"")
    for wire in ("h1", "tls-h2"):
        got = ask(stack, wire, stream, *instruction)
        assert got.complete and (got.header("content-type") or "").startswith(stream.content_type), got.headers
        assert neutral(got.body) == expected, f"{name} over {wire}"


@pytest.mark.parametrize("wire", WIRES)
def test_a_long_answer_passes_whole(stack: Stack, wire: str) -> None:
    """8 MB of JSON: more than any buffer of the way."""
    answer = ask(stack, wire, OTHERS["A-json"], ("x-sim-body-bytes", "8000000"))
    assert answer.complete and len(answer.body) == 8_000_000
    assert json.loads(answer.body)["object"] == "chat.completion"


# ---- Ends


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", STREAMS)
def test_a_client_that_leaves_is_noticed_upstream(stack: Stack, gateway: Gateway, name: str, wire: str) -> None:
    """The upstream must not go on generating, which costs money, for nobody."""
    stream = STREAMS[name]
    marker, mark = new_marker()
    headers = (*stream.headers, mark, ("x-sim-gap-ms", "50"), ("x-sim-events", "2000"))
    with client_of(stack, wire) as client:
        if isinstance(client, Http2):
            number = client.start("POST", stream.path, headers)
            client.data(number, stream.body, end=True)
            assert client.await_body(number, 1).status == 200
            client.reset(number)
            left = time.monotonic()
            # The connection stays: it is the stream that ended.
            gateway.wait_seen(marker, "answer_aborted", timeout=30)
        else:
            client.head("POST", stream.path, (*headers, ("content-length", str(len(stream.body)))))
            client.send(stream.body)
            assert client.next_head().status == 200
            client.sock.close()
            left = time.monotonic()
            gateway.wait_seen(marker, "answer_aborted", timeout=30)
    # It would go on for a hundred seconds.
    assert time.monotonic() - left < 10, f"{name} over {wire}"


CUTS = ["body", "after=3"]


@pytest.fixture(scope="module")
def cut_streams(stack: Stack, pool: ThreadPoolExecutor) -> dict[tuple[str, str, str], Future[Answer]]:
    """All at once too: over HTTP/1 Envoy takes a second to close."""
    return {
        (name, wire, cut): pool.submit(ask, stack, wire, stream, ("x-sim-cut", cut))
        for name, stream in STREAMS.items()
        for wire in WIRES
        for cut in CUTS
    }


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_stream_does_not_look_whole(
    cut_streams: dict[tuple[str, str, str], Future[Answer]], name: str, wire: str, cut: str
) -> None:
    """HTTP/1 without its last chunk, HTTP/2 with a reset: no client takes it for the end."""
    answer = cut_streams[name, wire, cut].result(timeout=60)
    if cut == "body" and answer.status == 502:
        # All accounts broke off in their first event while it was held: the client gets a proper error instead.
        assert answer.complete and answer.header("x-trilane-error") == "bad_gateway", answer
        return
    assert answer.status == 200, answer
    assert not answer.complete, f"{name} over {wire}: looks whole"
    if wire.endswith("h2"):
        assert answer.reset is not None, answer


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", STREAMS)
def test_an_upstream_that_breaks_before_its_answer(stack: Stack, name: str, wire: str) -> None:
    """Nothing has been said yet, so the client gets a proper error."""
    answer = ask(stack, wire, STREAMS[name], ("x-sim-cut", "head"))
    assert answer.status == 502 and answer.complete, answer
    assert answer.header("x-trilane-error") == "bad_gateway", answer
    error = json.loads(answer.body)["error"]
    assert error["message"]
    assert {"A": "server_error", "B": "api_error", "C": None}[name[0]] == error.get("type"), error
    assert name[0] != "C" or (error["code"], error["status"]) == (502, "UNAVAILABLE"), error


# ---- Answers before the end of the question

START = b'{"contents":[{"role":"user","parts":[{"text":"'
END = b'"}]}],"model":"gemini-2.5-pro"}'


class Early:
    """An upload that stops in the middle, to an upstream that does not wait for the rest."""

    def __init__(self, stack: Stack, wire: str, early: str, mark: Header) -> None:
        self.client = client_of(stack, wire)
        headers = (*C, mark, ("x-sim-early", early), ("x-sim-gap-ms", "50"))
        if isinstance(self.client, Http2):
            self.number = self.client.start("POST", STREAMS["C"].path, headers)
            self.client.data(self.number, START)
        else:
            self.client.head("POST", STREAMS["C"].path, (*headers, ("transfer-encoding", "chunked")))
            self.client.chunk(START)

    def answer(self, then: Optional[bytes] = None) -> Answer:
        """The answer, after the beginning of which `then` is sent as the last of the question."""
        client = self.client
        with client:
            if isinstance(client, Http2):
                assert client.await_body(self.number, 1).status == 200
                if then:
                    client.data(self.number, then, end=True)
                return client.answer(self.number)
            answer = client.next_head()
            if then:
                client.chunk(then)
                client.chunk(b"")
            client.read_body(answer)
            return answer


@pytest.mark.parametrize("early", ["1", "close"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_early_answer_passes_at_once(stack: Stack, gateway: Gateway, wire: str, early: str) -> None:
    """The question never ends; the answer does."""
    marker, mark = new_marker()
    answer = Early(stack, wire, early, mark).answer()
    assert answer.status == 200 and answer.complete, answer
    assert answer.body.count(b"data:") >= 5, answer
    for entry in gateway.seen(marker):
        assert entry["body_sha256"] is None, entry


@pytest.mark.parametrize("wire", WIRES)
def test_a_second_model_after_an_early_answer(stack: Stack, gateway: Gateway, wire: str) -> None:
    """No error can be given any more, the answer is on its way: both sides are reset instead."""
    marker, mark = new_marker()
    answer = Early(stack, wire, "1", mark).answer(then=END)
    assert answer.status == 200 and not answer.complete, answer
    for entry in gateway.seen(marker):
        assert entry["body_sha256"] is None, entry


# ---- Last, since it takes that long anyhow


def test_a_stream_outlives_fifteen_seconds(long_stream: Future[tuple[Answer, float]]) -> None:
    """Envoy's default would cut it at 15 s."""
    answer, seconds = long_stream.result(timeout=60)
    assert seconds > 16, f"the test itself is too short: {seconds:.1f} s"
    assert answer.status == 200 and answer.complete, answer
    assert b"message_stop" in answer.body
