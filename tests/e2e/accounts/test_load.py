"""Sixteen clients while every account fails in turn, in every way: nobody notices, and the books are right."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.ledger_reader import Record, kinds
from e2e.accounts.document import ACCOUNTS, document
from e2e.accounts.failing import Failing
from e2e.accounts.operations import OPERATIONS

CLIENTS = 16
#: Nothing that is good here takes so long, on a machine that is short of time either.
HASTY = {"answer_seconds": 3, "stream_answer_seconds": 3}
#: The tiers, after how many failures an account is set aside, and for how many requests one fails in one way. Where
#: nobody is set aside, each account is met in each way.
RUNS = {"two tiers, set aside": ((2, 2), 1, 12), "one tier, never set aside": ((4,), 100, 36)}

WAYS: list[dict[str, Any]] = [
    {"status": 401},
    {"status": 402},
    {"status": 403},
    {"status": 429, "retry_after": 60},
    {"status": 500},
    {"status": 502},
    {"status": 503, "early": "close"},
    {"status": 504},
    {"status": 529, "early": 1},
    {"cut": "head"},
    {"cut": "head", "early": "close"},
    {"stall": "head"},
]
#: Ways that take another document: it is published while the clients go on.
RAW = ["refuses", "resets at once", "closes after the head", "speaks no HTTP"]

#: The simulator's kinds -> the members that tell them, each a part of its sum.
PARTS = {
    "cache_read": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_5m": "trilane.usage.cache_creation_5m.input_tokens",
    "cache_write_1h": "trilane.usage.cache_creation_1h.input_tokens",
    "tool_use": "trilane.usage.tool_use.input_tokens",
    "reasoning": "gen_ai.usage.reasoning.output_tokens",
}
INPUT = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "tool_use", "input_image")
OUTPUT = ("output", "reasoning")


class Load:
    """Clients that go on until they are told to stop."""

    def __init__(self, accounts: Desk) -> None:
        self.accounts = accounts
        #: What fails now, and where.
        self.now: tuple[dict[str, Any], list[str]] = ({}, [])
        self.over = threading.Event()
        self.answers: list[Asked] = []
        self._turns = itertools.count()

    def client(self, number: int) -> None:
        while not self.over.is_set():
            turn = next(self._turns)
            sim, at = self.now
            operation = OPERATIONS[turn % 8]
            session = f"{number}.{turn % 5}"
            asking = {**sim, "usage": "random", "events": turn % 7}
            asked = self.accounts.ask(operation, session=session, sim=asking, key=number, at=at or None)
            self.answers.append(asked)

    def wait(self, requests: int) -> None:
        """Returns when so many more have been answered."""
        until = len(self.answers) + requests
        deadline = time.monotonic() + 120
        while len(self.answers) < until:
            assert time.monotonic() < deadline, f"the clients stand still at {len(self.answers)} requests"
            time.sleep(0.002)

    def watch(self) -> None:
        """Judges what the accounts get, before the simulator forgets it."""
        while not self.over.wait(0.25):
            self.accounts.journal.check(all_over=False)


@pytest.mark.parametrize(("tiers", "failures", "turn"), RUNS.values(), ids=RUNS)
def test_load(accounts: Desk, tiers: tuple[int, ...], failures: int, turn: int) -> None:
    failover = {**HASTY, "failures": failures}
    accounts.publish(document(tiers, failover=failover))
    accounts.journal.check()
    accounts.journal.reset_totals()
    load = Load(accounts)
    seen_before = accounts.journal.checked
    with Failing() as failing, ThreadPoolExecutor(CLIENTS + 1) as threads:
        running = [threads.submit(load.client, number) for number in range(CLIENTS)]
        running.append(threads.submit(load.watch))
        try:
            for sim, account in itertools.product(WAYS, ACCOUNTS):
                load.now = (sim, [account])
                load.wait(turn)
            load.now = ({}, [])
            for way, account in zip(RAW, ACCOUNTS):
                changes = {account: {"url": failing.url(way, account)}}
                accounts.publish(document(tiers, failover=failover, changes=changes))
                load.wait(turn)
            accounts.publish(document(tiers, failover=failover))
        finally:
            load.over.set()
        for each in running:
            each.result()
    accounts.journal.check()
    failed = books(accounts, load, accounts.journal.checked - seen_before)
    if failures == 100:
        every = ("unauthorized", "rate_limited", "server_error", "overloaded", "connection", "no_answer")
        missed = [each for each in itertools.product(ACCOUNTS, every) if not failed[each]]
        assert not missed, f"never met: {missed}"


def books(accounts: Desk, load: Load, seen: int) -> Counter[tuple[str, str]]:
    """Clients, accounts and ledger tell the same story. Gives the failed tries by account and kind."""
    bad = [(asked, asked.tried) for asked in load.answers if asked.status != 200 or asked.trouble]
    assert not bad, f"{len(bad)} of {len(load.answers)} clients saw an error: {bad[:3]}"
    broken = [asked for asked in load.answers if not whole(asked)]
    assert not broken, f"{len(broken)} answers are not whole: {broken[:3]}"
    records = [asked.record() for asked in load.answers]
    assert {record["trilane.usage.status"] for record in records} == {"complete"}
    # No request at an account that no record tells of, and no try in a record too many.
    reached = sum(len(asked.tried) for asked in load.answers)
    assert reached == seen, f"{seen} requests at the accounts, {reached} of them of clients"
    failed = Counter(each for record in records for each in kinds(record))
    assert sum(record["trilane.tries"] for record in records) == len(records) + sum(failed.values())
    for asked, record in zip(load.answers, records):
        tries = [account for account, _ in kinds(record)] + [record["trilane.account"]]
        assert is_subsequence(asked.tried, tries), f"{asked}: {asked.tried}, not {tries}"
    # Failed tries cost nothing: all usage that the accounts told is in the ledger once, to the token.
    issued = accounts.journal.totals()["issued"]
    told = usage(records)
    assert told == {**{name: issued[name] for name in PARTS}, **sums(issued)}, f"{told}, not {issued}"
    by_kind = Counter(kind for _, kind in failed.elements())
    print(f"{len(records)} requests, {reached} tries at accounts, failed: {dict(by_kind)}, tokens: {told}")
    return failed


def sums(issued: dict[str, int]) -> dict[str, int]:
    return {
        "all input": sum(issued[name] for name in INPUT),
        "all output": sum(issued[name] for name in OUTPUT),
    }


def usage(records: list[Record]) -> dict[str, int]:
    told = {name: sum(record.get(member, 0) for record in records) for name, member in PARTS.items()}
    told["all input"] = sum(record.get("gen_ai.usage.input_tokens", 0) for record in records)
    told["all output"] = sum(record.get("gen_ai.usage.output_tokens", 0) for record in records)
    return told


def is_subsequence(some: list[str], whole: list[str]) -> bool:
    rest: Iterator[str] = iter(whole)
    return all(account in rest for account in some)


#: The last words of each protocol's streams.
ENDS = {
    "chat-stream": b"data: [DONE]\n\n",
    "responses-stream": b'"type":"response.completed"',
    "messages-stream": b'"type":"message_stop"',
    "generate-stream": b'"finishReason":"STOP"',
}


def whole(asked: Asked) -> bool:
    """Whether an answer has its end."""
    if asked.operation.stream:
        return ENDS[asked.operation.name] in asked.body[-3000:]
    return isinstance(json.loads(asked.body), dict)
