"""However an exchange ends, it leaves one record, which says how it ended and how good its numbers are.

What is read of every answer and charged for it is in `tests/golden/cases/endings.txt`; here is what only a connection
can show, in one protocol, and the whole road of each kind of call.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Optional

import pytest
from e2e.ledger.ledger_calls import CALLS, USAGE
from e2e.ledger.ledger_desk import WIRES, Act, Client, Desk, Sent, whole
from e2e.raw import Answer


@dataclasses.dataclass(frozen=True)
class Case:
    """An exchange, how it is made to end, and what its record must say."""

    outcome: str
    usage: str
    #: The status that was sent to the client; 0: none.
    status: int
    sim: dict[str, str] = dataclasses.field(default_factory=dict)
    act: Act = whole
    call: str = "messages, stream"
    #: The key's group; the call's own unless given.
    group: str = ""
    #: Further members, or patterns that they match in full. `None`: must not be there.
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: How the answer reaches the client: whole or not.
    complete: Optional[bool] = None
    #: Through the gateway that waits for no more than a second.
    hasty: bool = False
    #: Where the part of the body ends that is sent at first.
    part: Optional[int] = None
    #: Sent in place of the rest of it.
    rest: Optional[bytes] = None


def leave_at(token: bytes, linger: float = 0) -> Act:
    """Goes in the middle of the answer, once it has seen this and nothing more has come for so many seconds."""

    def act(sent: Sent, client: Client) -> Optional[Answer]:
        client.post(sent.post)
        client.await_match(token)
        sent.left = client.linger(linger)
        client.leave()
        return None

    return act


def leave_unanswered(sent: Sent, client: Client) -> Optional[Answer]:
    """Goes when the upstream has the request and says nothing."""
    client.post(sent.post)
    sent.wait_seen("request_complete")
    client.leave()
    return None


def leave_unasked(sent: Sent, client: Client) -> Optional[Answer]:
    """Goes with the request half sent, the head having gone upstream."""
    client.post(sent.post)
    sent.wait_bytes(len(sent.post.part))
    client.leave()
    return None


def spoil(sent: Sent, client: Client) -> Optional[Answer]:
    """Waits for the answer to begin, which the request's first part was enough for, and sends the rest."""
    client.post(sent.post)
    client.await_match(b'"')
    client.more((sent.post.body or b"")[len(sent.post.part) :], end=True)
    return client.rest()


def _failed(reason: str) -> dict[str, Any]:
    return {"error.type": "bad_gateway", "trilane.upstream_failure": re.compile(reason)}


UNANSWERED: dict[str, Any] = {"gen_ai.response.id": None, "trilane.time_to_first_byte_us": None}
RESET = "upstream_reset_before_response_started.*"
MIDDLE, END = {"stall": "after=7"}, rb'"message_stop"\}\n\n'
WHOLE = {"gen_ai.usage.output_tokens": 509, "trilane.charge": CALLS["messages, stream"].charge}

CASES: dict[str, Case] = {
    **{
        name: Case("finished", "complete", 200, USAGE, call=name, complete=True, more={"trilane.charge": call.charge})
        for name, call in CALLS.items()
    },
    "client leaves in the middle": Case("client_abort", "estimated", 200, MIDDLE, leave_at(b"text_delta", 0.2)),
    # Agents hang up when they have read the protocol's end.
    "client leaves at the end": Case("finished", "complete", 200, {"stall": "after=11", **USAGE}, leave_at(END), more=WHOLE),
    "client leaves unanswered": Case("client_abort", "estimated", 0, {"stall": "head"}, leave_unanswered, more=UNANSWERED),
    "client leaves a picture": Case("client_abort", "estimated", 0, {"stall": "head"}, leave_unanswered, "images"),
    "client leaves half asked": Case("client_abort", "none", 0, {}, leave_unasked, part=-2, more=UNANSWERED),
    # Without the end of its last boundary.
    "client leaves half a form": Case("client_abort", "none", 0, {}, leave_unasked, "edits, form", part=-6),
    "reset before the head": Case("upstream_failed", "failed", 502, {"cut": "head"}, more=_failed(RESET)),
    "reset in the first event": Case("upstream_reset", "failed", 200, {"cut": "body"}, complete=False),
    "reset in the middle": Case("upstream_reset", "estimated", 200, {"cut": "after=7"}, complete=False),
    "reset in a document": Case("upstream_reset", "estimated", 200, {"cut": "body"}, call="chat", complete=False),
    "reset after the end": Case(
        "finished", "complete", 200, {"cut": "after=11", "gap-ms": "50", **USAGE}, complete=False, more=WHOLE
    ),
    "error event": Case(
        "error_event", "estimated", 200, {"scenario": "error"}, complete=True, more={"error.type": "overloaded_error"}
    ),
    "truncated": Case("truncated", "estimated", 200, {"scenario": "truncated"}, complete=True),
    "silence in the middle": Case("timeout", "estimated", 200, MIDDLE, complete=False, hasty=True),
    "silence before the head": Case(
        "upstream_failed", "failed", 502, {"stall": "head"}, hasty=True, more=_failed("stream_idle_timeout")
    ),
    "connection refused": Case(
        "upstream_failed", "failed", 502, call="chat", group="a-dead", more={**_failed(RESET), "flags": "UF"}
    ),
    "a cluster that Envoy does not have": Case(
        "upstream_failed", "failed", 502, call="chat", group="a-unknown", more={**_failed("cluster_not_found"), "flags": "NC"}
    ),
    "upstream says 529": Case(
        "upstream_error", "failed", 529, {"status": "529"}, complete=True, more={"error.type": "overloaded_error"}
    ),
    "upstream says 401": Case(
        "upstream_failed", "failed", 502, {"status": "401", "scenario": "leak"}, complete=True,
        more={"error.type": "bad_gateway", "trilane.upstream_status": 401, "trilane.upstream_failure": None},
    ),
    # The upstream answers without having the whole request, and the rest of it is wrong.
    "refused after the answer has begun": Case(
        "refused", "estimated", 200, {"early": "1", "stall": "body"}, spoil, "messages", complete=False, part=-1, rest=b"]]",
        more={"error.type": "invalid_body"},
    ),
    "request stalls": Case(
        "refused", "none", 408, call="messages", part=-2, hasty=True, complete=True, more={"error.type": "request_timeout"}
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def sent(desk: Desk, hasty_desk: Desk) -> Iterator[dict[tuple[str, str], Future[Sent]]]:
    """All of them, many at once; the slow ones first."""

    def send(case: Case, wire: str) -> Sent:
        call = CALLS[case.call]
        body = call.data if case.rest is None else call.data[: case.part] + case.rest
        return (hasty_desk if case.hasty else desk).send(
            case.group or call.group,
            call.path,
            body,
            wire=wire,
            sim=case.sim,
            content_type=call.content_type,
            part=None if case.part is None else body[: -len(case.rest) if case.rest else case.part],
            act=case.act,
        )

    with ThreadPoolExecutor(max_workers=12) as pool:
        order = sorted(CASES.items(), key=lambda item: not (item[1].hasty or item[1].part))
        yield {(name, wire): pool.submit(send, case, wire) for name, case in order for wire in WIRES}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", CASES)
def test_every_ending_has_one_record(sent: dict[tuple[str, str], Future[Sent]], name: str, wire: str) -> None:
    case = CASES[name]
    exchange = sent[name, wire].result(timeout=60)
    answer = exchange.answer
    if answer:
        assert exchange.status == case.status, exchange
    if case.complete is not None:
        assert answer and answer.complete == case.complete, exchange
    record = exchange.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == (case.outcome, case.usage), record
    assert record["http.response.status_code"] == case.status, record
    for member, wanted in {"error.type": None, "trilane.upstream_status": None, **case.more}.items():
        value = record.get(member)
        if isinstance(wanted, re.Pattern):
            assert isinstance(value, str) and wanted.fullmatch(value), f"{member}: {record}"
        else:
            assert value == wanted, f"{member}: {record}"
    assert ("trilane.charge" in record) == (case.usage in ("complete", "estimated")), record
    size = len(exchange.post.body or b"")
    # What was sent by then; over HTTP/2 the rest may have been on its way.
    least = size if case.part is None else len(exchange.post.part)
    assert least <= record["http.request.body.size"] <= size, record
    if answer and case.outcome == "finished":
        assert record["http.response.body.size"] == len(answer.body), record
        assert record["trilane.upstream_request_id"] == answer.header("x-request-id"), record
        assert 0 <= record["trilane.time_to_first_byte_us"] <= record["duration_ms"] * 1000 + 1000, record


def test_an_answer_that_is_not_awaited_costs_by_the_time(desk: Desk) -> None:
    def act(sent: Sent, client: Client) -> None:
        client.post(sent.post)
        sent.wait_seen("request_complete")
        time.sleep(1)  # As long as the client has patience: it is what counts.
        client.leave()

    call = CALLS["chat"]
    record = desk.send(call.group, call.path, call.body, sim={"stall": "head"}, act=act).record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("client_abort", "estimated"), record
    assert 75 <= record["gen_ai.usage.output_tokens"] <= record["duration_ms"] // 10 + 1, record


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("part", [b"{", CALLS["chat"].data[:-2]], ids=["before it has named its model", "held for its usage"])
def test_client_leaves_while_the_request_is_held(desk: Desk, part: bytes, wire: str) -> None:
    """Nothing has gone upstream."""
    call = CALLS["chat"]

    def act(sent: Sent, client: Client) -> None:
        # The gateway has the request once it has one: it must be the only one.
        desk.wait_active(0)
        client.post(sent.post)
        desk.wait_active(1)
        client.leave()

    exchange = desk.send("a", call.path, call.data, wire=wire, part=part, act=act)
    record = exchange.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("client_abort", "none"), record
    assert "gen_ai.usage.input_tokens" not in record and "trilane.charge" not in record, record
    assert record["http.response.status_code"] == 0 and record["upstream"] == "", record
    assert not exchange.seen()
