"""Sources in sequence: the next is asked when the accounts of one have failed, under its own name for the model and at its own price."""

from __future__ import annotations

import hashlib
import json
import random
from decimal import Decimal
from typing import Any, Optional

import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.accounts.document import ACCOUNTS, CREDENTIAL_HEADERS, LISTENERS, account
from e2e.accounts.operations import BY_NAME, OPERATIONS, Operation
from e2e.accounts.own_groups import document_of, key_of

pytestmark = pytest.mark.usefixtures("honest")

#: The clients' name for the model, by protocol.
MODEL = {"A": "gpt-6", "B": "claude-opus-9", "C": "gemini-9"}
ENTRIES = {"A": "responses", "B": "vb_messages", "C": "vc_generate_content"}
#: The sources of a protocol, as they are listed: multiplier, extra multiplier, name upstream, prices.
TERMS: list[tuple[str, str, Optional[str], dict[str, str]]] = [
    ("1.0000", "1.0000", None, {"input": "2", "output": "10"}),
    ("1.1000", "0.3333", "vendor.a-longer-name", {"input": "0.37", "output": "1.5"}),
    ("3.0000", "1.0000", "x", {"input": "5", "output": "25"}),
    ("0.5000", "1.0000", "fourth", {"input": "0.15", "output": "0.6"}),
]
SOURCES = [f"s{number}" for number in range(1, 5)]
#: How the account of each source fails, and what the ledger calls that.
FAILURES = [({"status": 503}, "overloaded"), ({"status": 429}, "rate_limited"), ({"status": 401}, "unauthorized")]


def _source(protocol: str, number: int, **fields: Any) -> dict[str, Any]:
    multiplier, _, upstream, prices = TERMS[number]
    model = {"id": MODEL[protocol], "prices": prices, **({"upstream": upstream} if upstream else {})}
    return {
        "id": SOURCES[number],
        "protocol": protocol,
        "multiplier": multiplier,
        "clients": "current",
        "accounts": [account(protocol, ACCOUNTS[number])],
        "failover": {"failures": 100},
        "models": [model],
        **fields,
    }


def _document(protocol: str, order: str = "listed", first: Optional[dict[str, Any]] = None, **of_all: Any) -> dict[str, Any]:
    groups = [_source(protocol, number, **((first or {}) if number == 0 else {})) for number in range(4)]
    listed = [{"source": source, "extra_multiplier": TERMS[number][1]} for number, source in enumerate(SOURCES)]
    entry = ENTRIES[protocol]
    everything = {
        "id": "all",
        "protocol": "Mixed",
        "clients": "current",
        "entries": {entry: {"sources": listed, "order": order}},
        "models": [{"id": MODEL[protocol], "entry": entry, "sources": SOURCES}],
        **of_all,
    }
    return document_of(*groups, everything)


def _headers(protocol: str, group: str = "all") -> dict[str, str]:
    name, prefix = CREDENTIAL_HEADERS[protocol]
    return {name: prefix + key_of({"id": group})}


def _ask(accounts: Desk, operation: Operation, group: str = "all", **named: Any) -> Asked:
    headers = _headers(operation.protocol, group)
    return accounts.ask(operation, model=MODEL[operation.protocol], headers=headers, **named)


def _body_at(operation: Operation, number: int) -> str:
    """The digest of the body that a source must get: only the one string is another."""
    model = MODEL[operation.protocol]
    _, usual = operation.request(model)
    named = TERMS[number][2] or model
    body = usual.replace(json.dumps(model).encode(), json.dumps(named).encode(), 1)
    return hashlib.sha256(body).hexdigest()


def _check(asked: Asked, numbers: list[int], extra: bool = True) -> None:
    """It went to these sources in turn, and the last one answered: under its names, at its price."""
    operation, last = asked.operation, numbers[-1]
    assert asked.status == 200 and asked.tried == [ACCOUNTS[number] for number in numbers], asked
    for number, entry in zip(numbers, asked.seen):
        if operation.protocol == "C":
            named = TERMS[number][2] or MODEL["C"]
            assert f"/models/{named}:" in entry["path"], entry
        assert entry["body_sha256"] == _body_at(operation, number), (number, entry)
    record = asked.record()
    multiplier, of_entry, upstream, prices = TERMS[last]
    final = Decimal(multiplier) * (Decimal(of_entry) if extra else 1)
    assert record["trilane.source"] == SOURCES[last], record
    assert record["trilane.account"] == ACCOUNTS[last], record
    assert record["trilane.upstream_model"] == (upstream or MODEL[operation.protocol]), record
    assert Decimal(record["trilane.multiplier"]) == round(final, 4), record
    used = {kind: record[f"gen_ai.usage.{kind}_tokens"] for kind in prices}
    assert all(used.values()), record
    listed = sum(number * Decimal(prices[kind]) for kind, number in used.items()) / 1_000_000
    assert Decimal(record["trilane.charge"]) == listed * final, record
    assert record["trilane.tries"] == len(numbers), record
    failed = [(one["source"], one["account"]) for one in record.get("trilane.tries.failed", [])]
    assert failed == [(SOURCES[number], ACCOUNTS[number]) for number in numbers[:-1]], record


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_source_in_its_turn(accounts: Desk, operation: Operation) -> None:
    accounts.publish(_document(operation.protocol))
    for how, kind in FAILURES:
        for failing in range(4):
            asked = _ask(accounts, operation, sim=how, at=ACCOUNTS[:failing])
            _check(asked, list(range(failing + 1)))
            kinds = [one["kind"] for one in asked.record().get("trilane.tries.failed", [])]
            assert kinds == [kind] * failing, asked.record()


def test_all_fail(accounts: Desk) -> None:
    accounts.publish(_document("A"))
    asked = _ask(accounts, BY_NAME["chat"], sim={"status": 503})
    assert asked.status == 503 and asked.tried == ACCOUNTS, asked
    record = asked.record()
    assert record["trilane.source"] == "s4" and "trilane.charge" not in record, record
    failed = [(one.get("source"), one["account"]) for one in record["trilane.tries.failed"]]
    assert failed == [("s1", "a1"), ("s2", "a2"), ("s3", "a3"), (None, "a4")], record


def test_tries_span_all(accounts: Desk) -> None:
    accounts.publish(_document("A", first={"failover": {"failures": 100, "tries": 2}}))
    asked = _ask(accounts, BY_NAME["chat"], sim={"status": 503})
    assert asked.status == 503 and asked.tried == ["a1", "a2"], asked


def test_the_cheapest_first(accounts: Desk) -> None:
    accounts.publish(_document("A", order="cheapest"))
    costs = [
        sum(Decimal(price) for price in prices.values()) * Decimal(multiplier) * Decimal(extra)
        for multiplier, extra, _, prices in TERMS
    ]
    order = sorted(range(4), key=lambda number: costs[number])
    assert order != list(range(4))
    for failing in range(4):
        at = [ACCOUNTS[number] for number in order[:failing]]
        asked = _ask(accounts, BY_NAME["chat-stream"], sim={"status": 503}, at=at)
        _check(asked, order[: failing + 1])


def test_a_source_that_is_set_aside(accounts: Desk) -> None:
    """A request goes to the next source at once, which calls the model otherwise."""
    accounts.publish(_document("A", first={"failover": {"failures": 1, "set_aside_seconds": 30}}))
    operation = BY_NAME["responses"]
    _check(_ask(accounts, operation), [0])
    _check(_ask(accounts, operation, sim={"status": 503}, at=["a1"]), [0, 1])
    for _ in range(3):
        _check(_ask(accounts, operation), [1])
    _check(_ask(accounts, operation, sim={"status": 503}, at=["a2"]), [1, 2])


@pytest.mark.parametrize("operation", ["chat", "messages-stream", "generate"])
def test_a_plain_group_with_a_fallback(accounts: Desk, operation: str) -> None:
    asked_for = BY_NAME[operation]
    groups = [_source(asked_for.protocol, number) for number in range(4)]
    groups[0]["fallback"] = ["s3", "s2"]
    groups[2]["fallback"] = ["s4"]  # a fallback of a fallback is none
    accounts.publish(document_of(*groups))
    for failing, numbers in [(0, [0]), (1, [0, 2]), (2, [0, 2, 1])]:
        at = [ACCOUNTS[number] for number in numbers[:failing]]
        _check(_ask(accounts, asked_for, group="s1", sim={"status": 503}, at=at), numbers, extra=False)
    asked = _ask(accounts, asked_for, group="s1", sim={"status": 503})
    assert asked.status == 503 and asked.tried == ["a1", "a3", "a2"], asked
    _check(_ask(accounts, asked_for, group="s3", sim={"status": 503}, at=["a3"]), [2, 3], extra=False)


def test_a_source_without_token_counting_is_skipped(accounts: Desk) -> None:
    wanted = _document("B")
    for number in (1, 3):
        wanted["groups"][number]["count_tokens"] = True
    accounts.publish(wanted)
    for at, want in [([], ["a2"]), (["a2"], ["a2", "a4"])]:
        marker = accounts.new_marker()
        headers = {**_headers("B"), "anthropic-version": "2023-06-01", "x-sim-marker": marker}
        if at:
            headers.update({"x-sim-status": "503", "x-sim-at": ",".join(LISTENERS[one] for one in at)})
        body = {"model": MODEL["B"], "messages": [{"role": "user", "content": "x"}]}
        answer = accounts.http.post("/v1/messages/count_tokens", headers=headers, json=body)
        assert answer.status_code == 200, answer.text
        entries = accounts.journal.of(marker)
        assert [entry["listener"] for entry in entries] == [LISTENERS[one] for one in want], entries


@pytest.mark.parametrize("size", [100_000, 5_000_000, 15_000_000])
def test_a_long_body_is_renamed(accounts: Desk, size: int) -> None:
    accounts.publish(_document("A"))
    operation = BY_NAME["chat"]
    body = json.dumps({"model": MODEL["A"], "stream": False, "messages": [{"role": "user", "content": "x" * size}]}).encode()
    asked = _ask(accounts, operation, body=body, sim={"status": 503}, at=["a1", "a2"])
    assert asked.status == 200 and asked.tried == ["a1", "a2", "a3"], asked
    for number, entry in enumerate(asked.seen):
        named = json.dumps(TERMS[number][2] or MODEL["A"]).encode()
        want = body.replace(json.dumps(MODEL["A"]).encode(), named, 1)
        assert entry["body_sha256"] == hashlib.sha256(want).hexdigest(), number


def test_a_body_that_envoy_does_not_keep(accounts: Desk) -> None:
    accounts.publish(_document("A"))
    content = {"model": MODEL["A"], "stream": False, "messages": [{"role": "user", "content": "x" * 18_000_000}]}
    _check(_ask(accounts, BY_NAME["chat"]), [0])
    asked = _ask(accounts, BY_NAME["chat"], body=json.dumps(content).encode(), sim={"status": 503}, at=["a1"])
    assert asked.status == 503 and asked.tried == ["a1"], asked
    failed = [(one.get("source"), one["kind"]) for one in asked.record()["trilane.tries.failed"]]
    assert failed == [(None, "overloaded"), ("s2", "body_too_large")], asked.record()


@pytest.mark.parametrize("protocol", ["A", "B", "C"])
def test_random_states(accounts: Desk, protocol: str) -> None:
    """Whatever fails and is set aside: those in use come in their order, then those that are set aside, until one answers."""
    draw = random.Random(f"states {protocol}")
    operations = [operation for operation in OPERATIONS if operation.protocol == protocol]
    for number in range(4):
        # Other terms: nobody is set aside.
        document = _document(protocol)
        for group in document["groups"][:4]:
            group["failover"] = {**group["failover"], "failures": 1, "set_aside_seconds": 100 + number}
        accounts.publish(document)
        aside: set[int] = set()
        for turn in range(12):
            failing = [source for source in range(4) if draw.random() < 0.3]
            status = draw.choice([401, 500, 503, 529])
            order = sorted(range(4), key=lambda source: (source in aside, source))
            answers = next((at for at, source in enumerate(order) if source not in failing), None)
            tried = order if answers is None else order[: answers + 1]
            at = [ACCOUNTS[source] for source in failing]
            sim = {"status": status} if failing else None
            asked = _ask(accounts, draw.choice(operations), sim=sim, at=at or None)
            case = f"round {number}, turn {turn}: {failing} fail with {status}, {sorted(aside)} are set aside"
            if answers is None:
                assert asked.status == (502 if status == 401 else status), f"{case}: {asked}"
                assert asked.tried == [ACCOUNTS[source] for source in tried], f"{case}: {asked.tried}"
            else:
                assert asked.tried == [ACCOUNTS[source] for source in tried], f"{case}: {asked.tried}"
                _check(asked, tried)
            aside.update(source for source in tried if source in failing)
