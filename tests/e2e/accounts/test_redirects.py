"""An account whose URL leads elsewhere: the next is asked, and no client ever learns where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.accounts.document import MODEL, account
from e2e.accounts.fronts import Answer, Front, says
from e2e.accounts.operations import is_native_error
from e2e.accounts.own_groups import USUAL, document_of, group_of, headers_of
from e2e.ledger_reader import kinds
from e2e.raw import Http1

ELSEWHERE = "elsewhere.example"
STATUSES = ["300 Multiple Choices", "301 Moved Permanently", "302 Found", "303 See Other", "304 Not Modified"]
STATUSES += ["305 Use Proxy", "307 Temporary Redirect", "308 Permanent Redirect", "399 Odd"]


def leads_elsewhere(status: str) -> Answer:
    headers = [f"location: https://{ELSEWHERE}/v1/x", f"refresh: 0; url=https://{ELSEWHERE}/"]
    body = b"" if status.startswith("304") else json.dumps({"error": {"message": ELSEWHERE}}).encode()
    return says(status, body, headers)


class Sources:
    """Of each protocol a source with one account, and two with two: one is never set aside."""

    def __init__(self, desk: Desk, first: Front, second: Front) -> None:
        self.desk, self.first, self.second = desk, first, second
        self.groups: dict[tuple[str, str], dict[str, Any]] = {}
        for protocol in USUAL:
            one = account(protocol, "a1", url=first.url)
            two = [one, account(protocol, "a2", 1, url=second.url)]
            for name, accounts, failures in (("one", [one], 0), ("two", two, 100), ("out", two, 1)):
                failover = {"failover": {"failures": failures, "set_aside_seconds": 60}} if failures else {}
                group = group_of(f"moved-{name}-{protocol.lower()}", protocol, accounts, **failover)
                self.groups[protocol, name] = group
        desk.publish(document_of(*self.groups.values()))

    def ask(self, protocol: str, name: str) -> Asked:
        headers = {**headers_of(self.groups[protocol, name], USUAL[protocol][0]), **version(protocol)}
        return self.desk.ask(USUAL[protocol][0], headers=headers)


def version(protocol: str) -> dict[str, str]:
    return {"anthropic-version": "2023-06-01"} if protocol == "B" else {}


@pytest.fixture(scope="module")
def sources(accounts: Desk) -> Iterator[Sources]:
    with Front() as first, Front() as second:
        yield Sources(accounts, first, second)


def refused(asked: Asked, protocol: str) -> None:
    """The gateway's own 502, which names no other address."""
    assert asked.status == 502 and asked.headers["x-trilane-error"] == "bad_gateway", asked
    assert is_native_error(protocol, asked.body), asked
    assert ELSEWHERE not in str(asked.headers) and ELSEWHERE.encode() not in asked.body, asked
    assert "location" not in asked.headers and "refresh" not in asked.headers, asked


def test_one_account(sources: Sources) -> None:
    """The client gets the gateway's own 502; the ledger names the account."""
    for status in STATUSES:
        sources.first.answer = leads_elsewhere(status)
        for protocol in USUAL:
            asked = sources.ask(protocol, "one")
            refused(asked, protocol)
            record = asked.record()
            assert record["trilane.account"] == "a1" and kinds(record) == [("a1", "redirected")], f"{status}: {record}"
            assert record["trilane.upstream_status"] == int(status[:3]), f"{status}: {record}"
            assert record["trilane.outcome"] == "upstream_failed" and "trilane.charge" not in record, f"{status}: {record}"
    # To a stream, as to everything else.
    operation = USUAL["A"][1]
    path, body = operation.request(MODEL["A"])
    with Http1(sources.desk.stack.base_url) as client:
        headers = {**headers_of(sources.groups["A", "one"], operation), "content-type": "application/json"}
        answer = client.request("POST", path, headers.items(), body)
    assert answer.status == 502 and answer.header("location") is None, answer


def test_two_accounts(sources: Sources) -> None:
    """The second one answers, whether the first was asked directly or by way of the hop."""
    for way in ("by way of the hop", "asked directly"):
        for status in STATUSES:
            sources.first.answer = leads_elsewhere(status)
            for protocol in USUAL:
                asked = sources.ask(protocol, "two")
                record, where = asked.record(), f"{way}, {status}: {asked}"
                assert asked.status == 200 and record["trilane.account"] == "a2", f"{where} {record}"
                assert kinds(record) == [("a1", "redirected")] and record["trilane.tries"] == 2, f"{where} {record}"
        sources.first.answer = says()
        for protocol in USUAL:
            assert sources.ask(protocol, "two").record()["trilane.account"] == "a1", way


def test_it_is_set_aside(sources: Sources) -> None:
    """Where all lead elsewhere, the client gets 502."""
    sources.first.answer = sources.second.answer = leads_elsewhere("307 Temporary Redirect")
    for protocol in USUAL:
        asked = sources.ask(protocol, "two")
        refused(asked, protocol)
        assert kinds(asked.record()) == [("a1", "redirected"), ("a2", "redirected")], asked.record()
    sources.second.answer = says()
    for protocol in USUAL:
        asked = sources.ask(protocol, "out")
        assert asked.status == 200 and kinds(asked.record()) == [("a1", "redirected")], asked.record()
    out = {(sources.groups[protocol, "out"]["id"], "a1") for protocol in USUAL}
    assert set(sources.desk.set_aside()) == out, sources.desk.set_aside()
