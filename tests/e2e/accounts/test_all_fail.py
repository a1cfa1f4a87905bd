"""Every account fails: the last answer reaches the client in its protocol's shape, and nobody pays."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.ledger_reader import Record, kinds
from e2e.accounts.accounts_rounds import all_asked
from e2e.accounts.document import ACCOUNTS, GROUPS, document
from e2e.accounts.failing import Failing
from e2e.accounts.operations import OPERATIONS, is_native_error

pytestmark = pytest.mark.usefixtures("honest")

TIERS = {"two tiers": (2, 2), "one tier": (4,)}

#: Status -> the kind in the record, and what the client sees of it.
RELAYED = {
    402: "unauthorized",
    429: "rate_limited",
    500: "server_error",
    502: "server_error",
    503: "overloaded",
    504: "server_error",
    529: "overloaded",
}


def unpaid(where: str, record: Record) -> None:
    """Nobody pays for failures."""
    assert record["trilane.usage.status"] == "failed", f"{where}: {record}"
    paid = [name for name in record if name.startswith("gen_ai.usage.") or name == "trilane.charge"]
    assert not paid, f"{where}: {paid}: {record}"


def our_502(where: str, asked: Asked) -> None:
    assert asked.status == 502 and asked.headers.get("x-trilane-error") == "bad_gateway", f"{where}: {asked}"
    assert is_native_error(asked.operation.protocol, asked.body), f"{where}: {asked}"
    assert "retry-after" not in asked.headers, f"{where}: {asked}"
    assert "x-should-retry" not in asked.headers, f"{where}: to ask again may help: {asked}"


def test_last_answer(accounts: Desk, pool: ThreadPoolExecutor) -> None:
    """An account's own answer is relayed as it is; one that finds fault with our credential is replaced."""
    accounts.publish(document((2, 2)))
    statuses = [*RELAYED, 401, 403]
    plan = list(itertools.product(statuses, OPERATIONS))
    asking = [
        partial(accounts.ask, operation, sim={"status": status, "retry_after": 7}) for status, operation in plan
    ]
    for (status, operation), asked in zip(plan, all_asked(accounts, pool, asking)):
        where = f"all answer {status}, {operation.name}"
        record = asked.record()
        kind = RELAYED.get(status, "unauthorized")
        assert sorted(asked.tried) == ACCOUNTS and record["trilane.tries"] == 4, f"{where}: {asked.tried} {record}"
        assert kinds(record) == [(account, kind) for account in asked.tried], f"{where}: {asked.tried} {record}"
        assert {failed["status"] for failed in record["trilane.tries.failed"]} == {status}, f"{where}: {record}"
        assert record["trilane.account"] == asked.tried[-1], f"{where}: {record}"
        assert is_native_error(operation.protocol, asked.body), f"{where}: {asked}"
        unpaid(where, record)
        if status in RELAYED:
            assert asked.status == status and asked.headers.get("retry-after") == "7", f"{where}: {asked}"
            assert f"asked for a {status}".encode() in asked.body, f"{where}: {asked}"
            assert "x-trilane-error" not in asked.headers, f"{where}: {asked}"
            assert record["trilane.outcome"] == "upstream_error", f"{where}: {record}"
        else:
            # Our own account's trouble is none of the client's: it would think that its key is no good.
            assert asked.status == (502 if status == 401 else 403), f"{where}: {asked}"
            assert asked.headers.get("x-trilane-error"), f"{where}: {asked}"
            assert asked.headers.get("x-should-retry") == "false", f"{where}: {asked}"
            assert (b"tell the operator of this gateway" in asked.body) == (status == 401), f"{where}: {asked}"
            assert f"asked for a {status}".encode() not in asked.body, f"{where}: {asked}"
            assert record["trilane.upstream_status"] == status, f"{where}: {record}"
            assert record["trilane.outcome"] == "upstream_failed", f"{where}: {record}"


#: What is wrong with every account, the kind in the record.
NOWHERE: dict[str, tuple[dict[str, Any], str]] = {
    "refuses": ({}, "connection"),
    "resets after the head": ({}, "connection"),
    "closes after the head": ({}, "connection"),
    "speaks no HTTP": ({}, "connection"),
    "breaks off in its head": ({}, "connection"),
    "has no address": ({"url": "http://no-such-host.invalid:80"}, "no_host"),
    "has no credential": ({"credential": "empty"}, "no_credential"),
    "hangs": ({}, "no_answer"),
}


#: Each way, in one arrangement or the other. An only account has all the time in the world.
WHERE = [(list(TIERS.values())[number % 2], way) for number, way in enumerate(NOWHERE)] + [((1,), "refuses"), ((1,), "has no address")]


@pytest.mark.parametrize(("tiers", "way"), WHERE, ids=str)
def test_no_answer(accounts: Desk, pool: ThreadPoolExecutor, tiers: tuple[int, ...], way: str) -> None:
    """Without any answer the client gets our own 502."""
    fields, kind = NOWHERE[way]
    accounts.credentials.put("empty", "")
    tries = 2 if way == "hangs" else 4
    with Failing() as failing:
        changes = {account: fields or {"url": failing.url(way, account)} for account in ACCOUNTS}
        failover = {"tries": tries, "answer_seconds": 2, "stream_answer_seconds": 2}
        accounts.publish(document(tiers, failover=failover, changes=changes))
        every = all_asked(accounts, pool, [partial(accounts.ask, operation) for operation in OPERATIONS])
        for asked in every:
            where = f"all: {way}, {asked.operation.name}"
            our_502(where, asked)
            record = asked.record()
            unpaid(where, record)
            assert record["trilane.outcome"] == "upstream_failed", f"{where}: {record}"
            assert record["trilane.upstream_failure"], f"{where}: {record}"
            assert record["error.type"] == "bad_gateway", f"{where}: {record}"
            failed = kinds(record)
            assert {kind for _, kind in failed} == {kind}, f"{where}: {record}"
            assert record["trilane.account"] == failed[-1][0], f"{where}: {record}"
            if tiers == (1,):
                assert {account for account, _ in failed} == {"a1"}, f"{where}: {record}"
            else:
                assert len(failed) == record["trilane.tries"] == tries, f"{where}: {record}"


def test_different_failures(accounts: Desk, pool: ThreadPoolExecutor) -> None:
    """Whoever was asked last decides what the client sees: its 429 as it is, or ours in place of a 502, with the time of those at their limit."""
    with Failing() as failing:
        changes = {
            "a1": {"url": failing.url("refuses", "a1")},
            "a2": {"url": failing.url("resets after the head", "a2")},
        }
        accounts.publish(document((4,), failover={"failures": 100, "tries": 4}, changes=changes))
        plan = list(itertools.product(OPERATIONS, range(6)))
        asking = [
            partial(accounts.ask, operation, sim={"status": 429, "retry_after": 11}, session=f"different {session}")
            for operation, session in plan
        ]
        seen = set()
        for asked in all_asked(accounts, pool, asking):
            where = f"{asked.operation.name}, {asked.marker}"
            record = asked.record()
            failed = kinds(record)
            assert len(failed) == 4 and len({account for account, _ in failed}) == 4, f"{where}: {record}"
            assert {("a1", "connection"), ("a2", "connection")} <= set(failed), f"{where}: {record}"
            assert {("a3", "rate_limited"), ("a4", "rate_limited")} <= set(failed), f"{where}: {record}"
            unpaid(where, record)
            seen.add(failed[-1][1])
            if failed[-1][1] == "rate_limited":
                assert asked.status == 429 and asked.headers["retry-after"] == "11", f"{where}: {asked}"
                assert is_native_error(asked.operation.protocol, asked.body), f"{where}: {asked}"
            else:
                assert asked.status == 429 and 1 <= int(asked.headers["retry-after"]) <= 11, f"{where}: {asked}"
                assert asked.headers["x-trilane-error"] == "rate_limit_exceeded", f"{where}: {asked}"
                assert is_native_error(asked.operation.protocol, asked.body), f"{where}: {asked}"
        assert "rate_limited" in seen, seen


@pytest.mark.parametrize("tiers", [(2, 2), (1,)], ids=["two tiers", "an only account"])
def test_refused_by_all_and_not_by_one(accounts: Desk, pool: ThreadPoolExecutor, tiers: tuple[int, ...]) -> None:
    """A 502 is final where each account refused its credential; one that failed otherwise may be back in a moment."""
    with Failing() as failing:
        for way in (None, "refuses", "hangs"):
            changes = {"a2": {"url": failing.url(way, "a2")}} if way else {}
            if way and tiers == (1,):
                continue
            failover = {"failures": 100, "answer_seconds": 1, "stream_answer_seconds": 1}
            accounts.publish(document(tiers, failover=failover, changes=changes))
            asking = [partial(accounts.ask, operation, sim={"status": 401}) for operation in OPERATIONS]
            for asked in all_asked(accounts, pool, asking):
                where = f"a2 {way or 'refuses the credential'}, {asked.operation.name}"
                record = asked.record()
                failed = kinds(record)
                assert len(failed) == sum(tiers), f"{where}: {record}"
                others = {kind for account, kind in failed if account != "a2" or not way}
                assert others == {"unauthorized"}, f"{where}: {record}"
                unpaid(where, record)
                if way:
                    our_502(where, asked)
                else:
                    assert asked.status == 502, f"{where}: {asked}"
                    assert asked.headers.get("x-should-retry") == "false", f"{where}: {asked}"
                    assert is_native_error(asked.operation.protocol, asked.body), f"{where}: {asked}"
                    assert b"tell the operator of this gateway" in asked.body, f"{where}: {asked}"


def test_the_log_names_who_was_refused(accounts: Desk) -> None:
    """Once a minute and worker, however many requests meet it."""
    accounts.publish(document((4,), failover={"failures": 100}))
    operation = OPERATIONS[0]
    source = GROUPS[operation.protocol]

    def lines() -> list[str]:
        log = accounts.stack.envoy_log.read_text(errors="replace")
        return [line for line in log.splitlines() if "was refused by its vendor" in line]

    before = len(lines())
    for _ in range(20):
        assert accounts.ask(operation, sim={"status": 401}).status == 502
    # Each of two workers once, and once more where a minute ends meanwhile; what came before may have been told then.
    assert len(lines()) - before <= 4 * len(ACCOUNTS), lines()
    for account in ACCOUNTS:
        sentence = f"source {source}: account {account} was refused by its vendor (401). Its credential is wrong, "
        told = [line for line in lines() if sentence in line]
        assert told and all("[warning]" in line for line in told), f"{account}: {lines()}"
    for value in accounts.credentials.all_values:
        assert not any(value in line for line in lines()), "a credential in the log"


def test_no_source(accounts: Desk) -> None:
    """The filter knows a source none of whose clusters Envoy has (yet): 502, and the record says why."""
    accounts.publish(document(failover={"failures": 100}))
    names = [f"account/{group}/{account}" for group in GROUPS.values() for account in ACCOUNTS]
    with accounts.clusters_without(*names):
        for operation in OPERATIONS:
            asked = accounts.ask(operation)
            our_502(operation.name, asked)
            record = asked.record()
            unpaid(operation.name, record)
            assert {kind for _, kind in kinds(record)} == {"no_host"}, f"{operation.name}: {record}"
    for operation in OPERATIONS:
        assert accounts.ask(operation).status == 200, f"{operation.name}: it is back with the clusters"
