"""Tokens by the minute: an estimate lets a request in, and what it has used takes the estimate's place.

Caps, kinds and endings are in `tests/golden/cases/limits.txt`; here is what a connection shows.
"""

from __future__ import annotations

import json
import time
from typing import Any, Optional

import pytest
from e2e.limits.limited_desk import Call, Desk, fits, told
from e2e.limits.limited_document import IMAGE_MODEL, Book, Key
from e2e.raw import Http1

BOOK = Book()
#: So many a minute that a test of some milliseconds sees what was used, and not what has drained.
INPUT, OUTPUT = 180_000, 120_000
LIMITS = {"input_tokens_per_minute": INPUT, "output_tokens_per_minute": OUTPUT}

#: A request of protocol B, and the input and output that are counted in the end; `None`: by estimate.
HOW: dict[str, tuple[dict[str, Any], Optional[int], Optional[int]]] = {
    "more": ({"usage": "input=90000,output=80000"}, 90_000, 80_000),
    "a stream": ({"stream": True, "usage": "input=4000,output=6000"}, 4000, 6000),
    "failed upstream": ({"status": 500}, 0, 0),
    "no answer": ({"cut": "head"}, 0, 0),
    # It tells the input, and a first token of output, before it begins.
    "broken off": ({"stream": True, "scenario": "truncated", "usage": "input=321,output=50000"}, 321, None),
    "left before the answer": ({"stall": "head"}, None, None),
    "left in its middle": ({"stream": True, "events": 1000, "gap_ms": 20, "usage": "input=7000,output=90000"}, 7000, None),
}
KEYS = {name: BOOK.key("B", **LIMITS) for name in HOW}
LATE = BOOK.key("A", output_tokens_per_minute=OUTPUT)
UPLOAD = BOOK.key("A", BOOK.group("A", images=True), input_tokens_per_minute=INPUT)


def tokens(desk: Desk, key: Key, began: float, used_input: int, used_output: int, why: Any) -> None:
    """So much is used of both kinds now."""
    asked = desk.list(key)
    gauges = told(asked)
    assert fits(gauges["tokens"], used_output, began), f"{why}: {used_output} of {OUTPUT}: {asked}"
    if key.protocol == "B":
        assert fits(gauges["input-tokens"], used_input, began), f"{why}: {used_input} of {INPUT}: {asked}"


def leave(desk: Desk, call: Call) -> None:
    """Sends a request, and leaves before its answer or in the middle of a stream."""
    with Http1(desk.stack.base_url) as client:
        client.head(call.method, call.path, [*call.headers, ("content-length", str(len(call.body or b"")))])
        client.send(call.body or b"")
        if b'"stream"' in (call.body or b""):
            assert client.next_head().status == 200
            while client._pending.count(b"data:") < 5:
                assert client._fill()
        else:
            desk.wait_seen(call.marker, "request_complete")
        client.reset()


@pytest.mark.parametrize("name", HOW)
def test_what_is_counted_in_the_end(name: str, desk: Desk) -> None:
    key = KEYS[name]
    how, read, written = HOW[name]
    # What was used before: what is given back shows only above nothing.
    primed = time.monotonic()
    assert desk.ask(key, usage="input=20000,output=20000").status == 200
    desk.records(key)
    call = desk.call(key, **how)
    if name.startswith("left"):
        leave(desk, call)
    else:
        desk.send(call)
    record = desk.records(key, 2)[-1]
    if written is None:
        assert record["trilane.usage.status"] == "estimated", record
        assert read in (None, record["gen_ai.usage.input_tokens"]), record
        read, written = (record.get(f"gen_ai.usage.{kind}_tokens", 0) for kind in ("input", "output"))
        assert written <= 200, f"what it was let in on: {record}"
    assert read is not None
    tokens(desk, key, primed, 20_000 + read, 20_000 + written, name)


def test_a_cap_that_comes_late_is_waited_for(desk: Desk) -> None:
    """The head is held until the body is there."""
    head = b'{"model":"gpt-5.1","messages":[{"role":"user","content":"' + b"x" * 4000
    began = time.monotonic()
    call = desk.call(LATE, body=head, stall="head")
    with Http1(desk.stack.base_url) as client:
        client.head(call.method, call.path, [*call.headers, ("transfer-encoding", "chunked")])
        client.chunk(head)
        time.sleep(0.2)
        assert desk.seen(call.marker) == [], "nothing goes before it is counted"
        client.chunk(b'"}],"max_tokens":4321}')
        client.chunk(b"")
        entry = desk.wait_seen(call.marker, "request_complete")
        assert json.loads(entry["body"])["max_tokens"] == 4321
        tokens(desk, LATE, began, 0, 4321, call)


def test_an_upload_of_unknown_length_is_waited_for(desk: Desk) -> None:
    """A picture, and a quarter of the other bytes."""
    picture = b"\x89PNG" + b"x" * 40_000
    form = (
        f'--edge\r\ncontent-disposition: form-data; name="model"\r\n\r\n{IMAGE_MODEL}\r\n'
        '--edge\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
    ).encode()
    body = form + picture + b"\r\n--edge--\r\n"
    headers = (("content-type", "multipart/form-data; boundary=edge"),)
    call = desk.call(UPLOAD, stall="head", path="/v1/images/edits", body=body, headers=headers)
    began = time.monotonic()
    with Http1(desk.stack.base_url) as client:
        client.head(call.method, call.path, [*call.headers, ("transfer-encoding", "chunked")])
        client.chunk(body[:20_000])
        time.sleep(0.2)
        assert desk.seen(call.marker) == [], "nothing goes before it is counted"
        client.chunk(body[20_000:])
        client.chunk(b"")
        desk.wait_seen(call.marker, "request_complete")
        gauge = told(desk.list(UPLOAD))["tokens"]
        assert fits(gauge, 1600 - (-(len(body) - len(picture)) // 4), began), gauge
