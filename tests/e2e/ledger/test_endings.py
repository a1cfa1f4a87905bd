"""However an exchange ends, it leaves one record, which says how it ended and how good its numbers are."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Optional

import pytest
from e2e.ledger.ending_cases import ASKED, CASES, EARLY, GROUP, USAGE, Case
from e2e.ledger.estimates import INPUT_MEMBER, OUTPUT_MEMBER, check_estimates, reported_part
from e2e.ledger.ledger_calls import (
    CALLS,
    Call,
    Kinds,
    answer_members,
    asked_members,
    charge_members,
    kinds_of,
    reported,
    told,
    usage_members,
    without_time,
)
from e2e.ledger.ledger_desk import WIRES, Client, Desk, Sent


@pytest.fixture(scope="module")
def sent(desk: Desk, hasty_desk: Desk) -> Iterator[dict[tuple[str, str], Future[Sent]]]:
    """All of them, many at once; the slow ones first."""

    def send(case: Case, wire: str) -> Sent:
        call = CALLS[case.call]
        data = call.body_bytes()
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        if case.rest is not None:
            body = body[: case.part] + case.rest
        return (hasty_desk if case.hasty else desk).send(
            case.group or GROUP[call.protocol],
            call.path,
            body,
            wire=wire,
            sim={"usage": USAGE, **case.sim},
            content_type=call.content_type,
            part=None if case.part is None else body[: -len(case.rest) if case.rest else case.part],
            act=case.act,
        )

    with ThreadPoolExecutor(max_workers=12) as pool:
        order = sorted(CASES.items(), key=lambda item: not (item[1].hasty or item[1].part))
        yield {
            (name, wire): pool.submit(send, case, wire)
            for name, case in order
            for wire in WIRES
            if (name, wire) in PLAYED
        }


#: Those in free groups over one version of HTTP.
PLAYED = [(name, wire) for name in CASES for wire in WIRES if wire == "h1" or not name.startswith("free: ")]


@pytest.mark.parametrize(("name", "wire"), PLAYED)
def test_every_ending_has_one_record(sent: dict[tuple[str, str], Future[Sent]], name: str, wire: str) -> None:
    case = CASES[name]
    call = CALLS[case.call]
    exchange = sent[name, wire].result(timeout=60)
    answer = exchange.answer
    if answer:
        assert exchange.status == case.status, exchange
    if case.complete is not None:
        assert answer and answer.complete == case.complete, exchange
    record = exchange.record()
    found = without_time(record)
    assert (found["trilane.outcome"], found["trilane.usage.status"]) == (case.outcome, case.usage), record

    assert record["http.response.status_code"] == case.status, record
    if case.flags:
        assert record["flags"] == case.flags, record

    expected = asked_members(exchange, call)
    if case.part is not None:
        # What was sent by then; over HTTP/2 the rest may have been on its way.
        size = expected.pop("http.request.body.size")
        assert len(exchange.post.part) <= found["http.request.body.size"] <= size, record
        stream = expected.pop("trilane.stream")
        assert found["trilane.stream"] in (stream, False), record
    assert {name: found.get(name) for name in expected} == expected
    for member, wanted in {"error.type": None, "trilane.upstream_status": None, **case.more}.items():
        value = found.get(member)
        if isinstance(wanted, re.Pattern):
            assert isinstance(value, str) and wanted.fullmatch(value), f"{member}: {record}"
        else:
            assert value == wanted, f"{member}: {record}"

    kinds = kinds_of(record)
    if case.usage == "estimated":
        assert kinds is not None, record
        body = (exchange.post.body or b"")[: found["http.request.body.size"]]
        check_estimates(record, kinds, call.form, body, call.content_type, exchange.got)
    else:
        assert INPUT_MEMBER not in found and OUTPUT_MEMBER not in found, record
    told_kinds = reported_part(kinds, record)
    if told_kinds is not None:
        numbers = found.get("trilane.usage.reported", {})
        assert {name: number for name, number in numbers.items() if number} == reported(call.form, told_kinds), record
    if case.kinds is EARLY:
        check_early(exchange, call, told_kinds)
    elif case.kinds is None:
        assert told_kinds is None, record
    else:
        assert usage_members(case.kinds).items() <= found.items(), record
        assert _positive(told_kinds) == case.kinds, record
        if call.form != "images" or len(case.kinds) > 1:
            assert found["trilane.usage.reported"] == reported(call.form, case.kinds)
    charged = {} if kinds is None else charge_members(exchange, call, kinds)
    assert found.get("trilane.charge") == charged.get("trilane.charge"), record
    assert found.get("trilane.currency") == charged.get("trilane.currency"), record
    if told_kinds is None:
        assert "trilane.usage.reported" not in found, record

    if answer and answer.complete and case.outcome not in ("upstream_failed", "refused"):
        assert answer_members(exchange, call).items() <= found.items()
    elif answer and case.outcome not in ("upstream_failed", "refused"):
        assert found["http.response.body.size"] >= len(answer.body), record


def _positive(kinds: Optional[Kinds]) -> Kinds:
    return {kind: number for kind, number in (kinds or {}).items() if number}


def check_early(exchange: Sent, call: Call, kinds: Optional[Kinds]) -> None:
    """No less than the client has seen, no more than the upstream has issued."""
    entry = exchange.seen()[-1]
    issued = entry["issued"]
    if call.form == "images" and issued and "output" in issued:
        issued = {**issued, "output_image": issued["output"]}
        del issued["output"]
    answer = exchange.answer
    if call.stream and answer and answer.complete:
        assert _positive(kinds) == _positive(issued), f"{exchange}: {kinds}, issued {issued}"
        return
    most = issued if issued is not None else told(call.form, ASKED) if not call.stream else {}
    for kind, number in _positive(kinds).items():
        assert number <= most.get(kind, 0), f"{exchange}: {kinds}, issued {issued}"
    seen = answer.body if answer else b""
    whole_event = re.search(
        {"messages": rb"message_start.*\n\n"}.get(call.form, rb"usageMetadata.*\}[\r\n,]+"), seen, re.S
    )
    if call.form in ("messages", "generate") and call.stream and (whole_event or exchange.answer is None):
        least = _positive(issued)
        least.pop("output", None)
        assert kinds is not None, exchange
        assert least.items() <= kinds.items(), f"{exchange}: {kinds}, issued {issued}"


#: A call, how long its client waits, and how many tokens the answer is taken to have by then: at least, at most.
NOT_AWAITED: dict[str, tuple[str, float, int, Optional[int]]] = {
    "chat": ("a", 1.5, 125, None),
    "messages, up to its cap": ("b", 1.5, 9, 9),
    "chat, stream": ("a", 1.0, 0, 0),
    "images": ("a", 1.0, 75, None),
    "embed": ("c", 1.0, 0, 0),
    "chat, free": ("a-free", 1.0, 0, 0),
}


@pytest.mark.parametrize("name", NOT_AWAITED)
def test_an_answer_that_is_not_awaited_costs_by_the_time(desk: Desk, name: str) -> None:
    group, wait, least, most = NOT_AWAITED[name]
    call = CALLS.get(name) or CALLS[name.partition(",")[0]]

    def act(sent: Sent, client: Client) -> None:
        client.post(sent.post)
        sent.wait_seen("request_complete")
        time.sleep(wait)  # As long as the client has patience: it is what counts.
        client.leave()

    exchange = desk.send(group, call.path, call.body, sim={"stall": "head"}, act=act)
    record = exchange.record()
    kinds = kinds_of(record)
    assert record["trilane.outcome"] == "client_abort", record
    if group == "a-free":
        assert record["trilane.usage.status"] == "partial" and kinds is None, record
        assert "trilane.charge" not in record, record
        return
    assert record["trilane.usage.status"] == "estimated" and kinds is not None, record
    check_estimates(record, kinds, call.form, exchange.post.body or b"", got=None)
    # Of an image its tokens are of a picture.
    written = kinds.get("output_image", 0) if call.form == "images" else kinds["output"]
    assert least <= written <= (record["duration_ms"] // 10 + 1 if most is None else most), record
    assert kinds["images"] == (1 if call.form == "images" else 0), record
    assert charge_members(exchange, call, kinds).items() <= record.items(), record


@pytest.mark.parametrize("wire", WIRES)
def test_client_leaves_while_the_request_is_held(desk: Desk, wire: str) -> None:
    """It may still be made to ask for its usage: nothing has gone upstream."""
    call = CALLS["chat"]

    def act(sent: Sent, client: Client) -> None:
        desk.wait_active(0)
        client.post(sent.post)
        desk.wait_active(1)
        client.leave()

    body = json.dumps(call.body).encode()
    exchange = desk.send("a", call.path, body, wire=wire, part=body[:-2], act=act)
    record = exchange.record()
    assert (record["trilane.outcome"], record["trilane.usage.status"]) == ("client_abort", "none"), record
    assert kinds_of(record) is None and "trilane.charge" not in record, record
    assert record["http.response.status_code"] == 0 and record["upstream"] == "", record
    assert not exchange.seen()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", ["chat", "messages, stream", "images"])
def test_client_leaves_before_it_has_named_its_model(desk: Desk, name: str, wire: str) -> None:
    """The request is held back: nothing has gone upstream, nothing is known but the head."""
    call = CALLS[name]

    def act(sent: Sent, client: Client) -> None:
        # The gateway has the request once it has one: it must be the only one.
        desk.wait_active(0)
        client.post(sent.post)
        desk.wait_active(1)
        client.leave()

    exchange = desk.send(GROUP[call.protocol], call.path, call.body, wire=wire, part=b"{", act=act)
    expected = asked_members(exchange, call)
    for unknown in ("gen_ai.request.model", "trilane.model", "trilane.upstream_model"):
        del expected[unknown]
    expected |= {"trilane.outcome": "client_abort", "trilane.usage.status": "none", "trilane.stream": False}
    record = exchange.record()
    found = without_time(record)
    # The byte may not have come before the reset.
    assert found.pop("http.request.body.size") in (0, 1) and found.pop("http.response.body.size") == 0, record
    del expected["http.request.body.size"]
    assert found == expected
    assert record["http.response.status_code"] == 0 and record["upstream"] == "", record
    assert not exchange.seen()
