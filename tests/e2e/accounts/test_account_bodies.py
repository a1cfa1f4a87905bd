"""Bodies of any size and form reach the account that answers whole, however many have failed before it."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.ledger_reader import kinds
from e2e.accounts.document import GROUPS, MODEL, RENAMED, UPSTREAM_NAME, document
from e2e.accounts.failing import Failing
from e2e.accounts.operations import BY_NAME, OPERATIONS, Operation
from e2e.raw import Answer
from e2e.uploading import Upload

pytestmark = pytest.mark.usefixtures("honest")

SIZES = {"1 KB": 1 << 10, "300 KB": 300 << 10, "5 MB": 5 << 20}
#: How the first two accounts fail, with and without having read the body.
FAILURES: dict[str, dict[str, Any]] = {
    "503 after the body": {"status": 503},
    "503 without reading": {"status": 503, "early": "close"},
    "429 before reading": {"status": 429, "early": 1},
    "reset after the body": {"cut": "head"},
    "reset without reading": {"cut": "head", "early": "close"},
    "reading slowly, then 500": {"status": 500, "slow_read_ms": 1},
}
WIRES = ["h1-length", "h1-chunked", "h2", "h2-length"]


@dataclasses.dataclass
class Sent:
    """A body that was sent, and what came of it."""

    case: str
    operation: Operation
    marker: str
    answer: Answer
    digest: str


def text_of(size: int, seed: int) -> str:
    """No two bodies are alike, nor two parts of one."""
    return random.Random(seed).randbytes(size // 2).hex()


def send(accounts: Desk, case: str, operation: Operation, wire: str, body: bytes, sim: Any, at: list[str]) -> Sent:
    marker = accounts.new_marker()
    headers = accounts.headers(operation, marker, 0, case, sim, at)
    path, _ = operation.request()
    upload = Upload(accounts.stack, wire, path, tuple(headers.items()), len(body))
    for start in range(0, len(body), 64 << 10):
        upload.piece(body[start : start + (64 << 10)])
    return Sent(case, operation, marker, upload.end(), hashlib.sha256(body).hexdigest())


def judge(accounts: Desk, sent: Sent, failing: list[str], digest: str = "") -> list[str]:
    """200, from an account that has the whole body; so had each that read it before."""
    assert sent.answer.status == 200 and sent.answer.complete, f"{sent.case}: {sent.answer}"
    entries = accounts.journal.of(sent.marker)
    wanted = digest or sent.digest
    assert entries[-1]["body_sha256"] == wanted, f"{sent.case}: {entries[-1]['body_bytes']} bytes: {entries[-1]}"
    for entry in entries:
        assert entry["body_sha256"] in (None, wanted), f"{sent.case}: another body at {entry['listener']}"
    record = accounts.ledger.of_request(sent.answer.header("x-request-id") or "")
    tried = [account for account, _ in kinds(record)]
    assert set(tried) <= set(failing) and record["trilane.tries"] == len(tried) + 1, f"{sent.case}: {record}"
    assert record["trilane.usage.status"] == "complete", f"{sent.case}: {record}"
    return tried


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_sizes(accounts: Desk, size: int) -> None:
    """Over HTTP/1.1 and HTTP/2, with a length and without."""
    accounts.publish(document((2, 2), failover={"failures": 100}))
    cases = list(itertools.product(FAILURES, WIRES))
    text = text_of(size, size)
    room = threading.Semaphore(4)

    def one(numbered: tuple[int, tuple[str, str]]) -> Sent:
        number, (way, wire) = numbered
        operation = OPERATIONS[number * 3 % 8]
        body = json.dumps(operation.body(MODEL[operation.protocol], f"{number} {text}")).encode()
        with room:
            return send(accounts, f"{way}, {wire}, {size} bytes", operation, wire, body, FAILURES[way], ["a1", "a2"])

    with ThreadPoolExecutor(len(cases)) as threads:
        every = list(threads.map(one, enumerate(cases)))
    accounts.journal.check()
    for sent in every:
        assert len(judge(accounts, sent, ["a1", "a2"])) == 2, f"{sent.case}: both of the first tier fail"


def test_nobody_listens(accounts: Desk) -> None:
    """Large bodies for accounts that refuse the connection, or break it before they have read."""
    with Failing() as failing:
        ways = ("refuses", "resets at once")
        changes = {account: {"url": failing.url(way, account)} for account, way in zip(("a1", "a2"), ways)}
        accounts.publish(document((2, 2), failover={"failures": 100}, changes=changes))
        text = text_of(5 << 20, 1)
        for number, wire in enumerate(WIRES):
            operation = OPERATIONS[number * 2]
            body = json.dumps(operation.body(MODEL[operation.protocol], f"{number} {text}")).encode()
            sent = send(accounts, f"nobody, {wire}", operation, wire, body, None, ["a1"])
            assert sorted(judge(accounts, sent, ["a1", "a2"])) == ["a1", "a2"], sent


@pytest.mark.parametrize("size", [100, 200_000, 2_000_000])
def test_edits_survive(accounts: Desk, size: int) -> None:
    """A model's name upstream, in body and path, and the option for usage: in every try, once."""
    asking = document((2, 2), failover={"failures": 100})
    asking["groups"] = [
        {**group, "include_usage": True} if group["id"] == GROUPS["A"] else group for group in asking["groups"]
    ]
    accounts.publish(asking)
    text = text_of(size, 7)
    ways = ("503 after the body", "reset after the body")
    for number, (operation, way) in enumerate(itertools.product(OPERATIONS, ways)):
        model, upstream = RENAMED[operation.protocol], UPSTREAM_NAME[operation.protocol]
        body = operation.body(model, f"{number} {text}")
        body.pop("stream_options", None)
        renamed = {**body, "model": upstream} if "model" in body else body
        expected = json.dumps(renamed).encode()
        if operation.name == "chat-stream":
            expected = expected[:-1] + b',"stream_options":{"include_usage":true}}'
        path, _ = operation.request(model)
        marker = accounts.new_marker()
        headers = accounts.headers(operation, marker, 0, f"edits {number}", FAILURES[way], ["a1", "a2"])
        wire = WIRES[number % 4]
        data = json.dumps(body).encode()
        upload = Upload(accounts.stack, wire, path, tuple(headers.items()), len(data))
        for start in range(0, len(data), 64 << 10):
            upload.piece(data[start : start + (64 << 10)])
        sent = Sent(f"{operation.name}, {way}, {wire}", operation, marker, upload.end(), "")
        tried = judge(accounts, sent, ["a1", "a2"], hashlib.sha256(expected).hexdigest())
        entries = accounts.journal.of(marker)
        assert len(tried) == 2 and len(entries) == 3, f"{sent.case}: {tried}"
        for entry in entries:
            assert entry["path"] == operation.path(upstream), f"{sent.case}: {entry['path']}"
            lengths = [value for name, value in entry["headers"] if name == "content-length"]
            assert lengths in ([], [str(len(expected))]), f"{sent.case}: {lengths}"
        if operation.name == "chat-stream":
            # The client did not ask for it.
            assert b'"choices":[]' not in sent.answer.body, f"{sent.case}: {sent.answer.body[-400:]!r}"


def test_too_large_for_a_second_try(accounts: Desk) -> None:
    """What is longer than Envoy keeps (16 MiB) still gets to an account that is good."""
    accounts.publish(document((2, 2), failover={"failures": 100}))
    operation = BY_NAME["messages"]
    body = json.dumps(operation.body(MODEL["B"], text_of(20 << 20, 2))).encode()
    for wire in ("h1-length", "h2"):
        sent = send(accounts, f"20 MiB, {wire}", operation, wire, body, None, [])
        judge(accounts, sent, [])
