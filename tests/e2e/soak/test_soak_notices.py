"""The soak's books notice what must not be: each case spoils one side of an exchange that balances."""

from __future__ import annotations

import copy
import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path("tests/soak").resolve()))

from soaking.accounts import SECRET
from soaking.books import Books, Tally
from soaking.documents import ACCOUNTS, KINDS, charge
from soaking.draw import drawn
from soaking.metrics import unequal
from soaking.seen import Seen
from soaking.shapes import Plan
from soaking.sources import Entry

ISSUED = {**dict.fromkeys(KINDS, 0), "input": 210, "cache_read": 1024, "output": 24, "reasoning": 32}
CHARGE = charge(0, "a-plain", "A", "gpt-5.1", ISSUED)
LINE: dict[str, Any] = {
    "request_id": "u-1",
    "http.response.status_code": 200,
    "upstream": "127.0.0.1:9101",
    "http.request.method": "POST",
    "url.path": "/v1/chat/completions",
    "trilane.outcome": "finished",
    "trilane.usage.status": "complete",
    "trilane.endpoint": "chat_completions",
    "trilane.protocol": "A",
    "trilane.key.id": "key-a-plain",
    "trilane.group": "a-plain",
    "trilane.source": "a-plain",
    "trilane.entry": "responses",
    "trilane.multiplier": "1.0000",
    "trilane.model": "gpt-5.1",
    "trilane.stream": True,
    "trilane.upstream_request_id": "sim-7",
    "gen_ai.usage.input_tokens": 1234,
    "gen_ai.usage.output_tokens": 56,
    "gen_ai.usage.cache_read.input_tokens": 1024,
    "gen_ai.usage.reasoning.output_tokens": 32,
    "trilane.charge": f"{CHARGE.normalize():f}" if CHARGE else "",
    "trilane.currency": "USD",
    "http.request.body.size": 2,
    "http.response.body.size": 900,
}


#: The same at a source with accounts, the first two of which failed.
FAILED = [
    {"account": "a-asks-1", "kind": "rate_limited", "status": 429},
    {"account": "a-asks-2", "kind": "no_credential", "status": 401, "reason": "failed_to_inject_credential"},
    {"account": "a-asks-3", "kind": "connection", "status": 0, "reason": "upstream_reset_before_response_started{x}"},
]
CHARGE_TRIED = charge(0, "a-asks", "A", "gpt-5.1", ISSUED)
TRIED: dict[str, Any] = {
    **LINE,
    "trilane.key.id": "key-a-asks",
    "trilane.group": "a-asks",
    "trilane.source": "a-asks",
    "trilane.multiplier": "0.2000",
    "trilane.account": "a-asks-4",
    "trilane.tries": 4,
    "trilane.tries.failed": FAILED,
    "trilane.charge": f"{CHARGE_TRIED.normalize():f}" if CHARGE_TRIED else "",
}


class Case:
    """One exchange from all sides, to be spoiled."""

    def __init__(self) -> None:
        self.plan = Plan(
            "1-c0-1",
            "finished",
            "POST",
            "/v1/chat/completions",
            [],
            b"{}",
            group="a-plain",
            protocol="A",
            endpoint="chat_completions",
            model="gpt-5.1",
            form="chat",
            stream=True,
            events=True,
            told=True,
            inflated=2,
        )
        now = time.time()
        self.seen = Seen(200, "u-1", complete=True, size=900, began=now, ended=now)
        self.entries = [Entry(7, "1-c0-1", "u-1", "answered", 200, dict(ISSUED), False, "a_official")]
        self.lines = [copy.deepcopy(LINE)]
        self.raw: list[bytes] = []
        self.versions = [(now - 1, 0)]

    def books(self) -> Books:
        """All of it entered, and closed."""
        books = Books(self.versions)
        books.open(self.plan)
        for entry in self.entries:
            books.upstream(entry)
        books.client(self.plan, self.seen)
        for line in [json.dumps(line).encode() for line in self.lines] + self.raw:
            books.record(line)
        books.close()
        return books


class TriedCase(Case):
    """The same, the first three accounts having failed."""

    def __init__(self) -> None:
        super().__init__()
        self.plan.group, self.plan.ending = "a-asks", "account fails"
        self.lines = [copy.deepcopy(TRIED)]
        states = {"a-asks-1": ("answered", 429), "a-asks-3": ("answer_aborted", None), "a-asks-4": ("answered", 200)}
        self.entries = []
        for number, (name, (state, status)) in enumerate(states.items(), 5):
            account = ACCOUNTS["a-asks"][name]
            issued = dict(ISSUED) if status == 200 else None
            entry = Entry(
                number, "1-c0-1", "u-1", state, status, issued, False, account.listener, (account.credential,)
            )
            self.entries.append(entry)

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The record's failed tries."""
        return self.lines[0]["trilane.tries.failed"]


def put(**members: Any) -> Callable[[Case], None]:
    """Other values in the record; names have `__` for dots."""
    return lambda case: case.lines[0].update({name.replace("__", "."): value for name, value in members.items()})


def drop(name: str) -> Callable[[Case], None]:
    return lambda case: case.lines[0].pop(name)


def cut(case: Case) -> None:
    """The same exchange, broken off by the source: the record is a lower bound."""
    case.plan.ending = "source cuts in answer"
    case.seen.complete = False
    case.lines[0].update({"trilane.outcome": "upstream_reset", "trilane.usage.status": "partial"})


def cut_with_more(case: Case) -> None:
    cut(case)
    case.entries[0].issued = {**ISSUED, "input": 209}


SPOILED: dict[str, Callable[[Case], Any]] = {
    "no record": lambda case: case.lines.clear(),
    "two records": lambda case: case.lines.append(copy.deepcopy(LINE)),
    "a record of nothing": lambda case: case.lines.append({**LINE, "request_id": "u-2"}),
    "a line that is no JSON": lambda case: case.raw.append(b'{"request_id":"u-3","flags":'),
    "an upstream request too many": lambda case: case.entries.append(copy.copy(case.entries[0])),
    "no upstream request": lambda case: case.entries.clear(),
    "one input token more": put(gen_ai__usage__input_tokens=1235),
    "one output token less": put(gen_ai__usage__output_tokens=55),
    "cached input told as other input": drop("gen_ai.usage.cache_read.input_tokens"),
    "no usage": lambda case: [case.lines[0].pop(name) for name in LINE if "usage." in name and "status" not in name],
    "partial, though all of it came": put(trilane__usage__status="partial"),
    "another outcome": put(trilane__outcome="truncated"),
    "the last digit of the charge": put(trilane__charge=str(Decimal(LINE["trilane.charge"]) + Decimal("1e-16"))),
    "a charge in another notation": put(trilane__charge=LINE["trilane.charge"] + "0"),
    "no charge": drop("trilane.charge"),
    "the multiplier of another document": put(trilane__multiplier="1.0001"),
    "a multiplier of no document": put(trilane__multiplier="1.0009"),
    "another key": put(**{"trilane__key__id": "key-a-asks"}),
    "another model": put(trilane__model="gpt-5.4-nano"),
    "another upstream request": put(trilane__upstream_request_id="sim-8"),
    "another status": put(**{"http__response__status_code": 502}),
    "another size": put(**{"http__response__body__size": 899}),
    "more than was issued, of a cut answer": cut_with_more,
    "a client that took half for whole": lambda case: [cut(case), setattr(case.seen, "complete", True)],
    "a client without an answer": lambda case: setattr(case.seen, "trouble", "hangs"),
}


def credentials(number: int, *pairs: tuple[str, str]) -> Callable[[TriedCase], None]:
    """Others with the request that came to the upstream as this one."""
    return lambda case: setattr(case.entries[number], "credentials", pairs)


def credential_of(account: str) -> tuple[str, str]:
    return ACCOUNTS["a-asks"][account].credential


def all_failed(case: TriedCase) -> None:
    """The last one too: the client gets its answer. That balances."""
    case.plan.ending, case.plan.detail = "source status", "529"
    case.seen.status = 529
    case.failed.append({"account": "a-asks-4", "kind": "overloaded", "status": 529})
    case.entries[-1].status, case.entries[-1].issued = 529, None
    line = case.lines[0]
    for name in [name for name in line if name.startswith("gen_ai.usage") or name == "trilane.charge"]:
        del line[name]
    line.update(
        {"http.response.status_code": 529, "trilane.outcome": "upstream_error", "trilane.usage.status": "failed"}
    )


def all_failed_but_charged(case: TriedCase) -> None:
    all_failed(case)
    case.lines[0]["trilane.charge"] = TRIED["trilane.charge"]


def all_failed_with_usage(case: TriedCase) -> None:
    all_failed(case)
    case.lines[0].update({name: value for name, value in LINE.items() if name.startswith("gen_ai.usage")})


def an_error_though_others_were_good(case: TriedCase) -> None:
    all_failed(case)
    case.plan.ending = "account fails"


SPOILED_TRIES: dict[str, Callable[[TriedCase], Any]] = {
    "another account answered": put(trilane__account="a-asks-2"),
    "an account of another source": put(trilane__account="b-one-1"),
    "no account": drop("trilane.account"),
    "one try more": put(trilane__tries=5),
    "one try less": put(trilane__tries=3),
    "no tries": drop("trilane.tries"),
    "no failed tries": drop("trilane.tries.failed"),
    "a failed try less": lambda case: [case.failed.pop(0), put(trilane__tries=3)(case)],
    "a failed try more": lambda case: [case.failed.append(dict(FAILED[0])), put(trilane__tries=5)(case)],
    "in another order": lambda case: case.failed.reverse(),
    "another account failed": lambda case: case.failed[0].update(account="a-asks-3"),
    "another kind of failure": lambda case: case.failed[0].update(kind="overloaded"),
    "another status of a failure": lambda case: case.failed[0].update(status=503),
    "a failure that nothing causes": lambda case: case.failed[1].update(kind="tls", reason="x"),
    "a credential missing that was there": lambda case: case.failed[1].update(account="a-asks-4"),
    "a connection that broke, though it was answered": lambda case: setattr(case.entries[1], "state", "answered"),
    "a hanging account that did not hang": lambda case: case.failed[2].update(kind="no_answer", status=0),
    "a try that no account has seen": lambda case: case.entries.pop(1),
    "a try that is not in the record": lambda case: case.entries.insert(0, copy.copy(case.entries[0])),
    "usage of a failed try": lambda case: setattr(case.entries[-1], "issued", {**ISSUED, "input": 209}),
    "a charge, though all failed": all_failed_but_charged,
    "usage, though all failed": all_failed_with_usage,
    "an error that another account could have prevented": an_error_though_others_were_good,
    "the credential of another account": credentials(0, credential_of("a-asks-2")),
    "no credential": credentials(2),
    "two credentials": credentials(2, credential_of("a-asks-4"), credential_of("a-asks-4")),
    "the client's key too": credentials(2, credential_of("a-asks-4"), ("x-api-key", "soak-a-asks-0123456789")),
    "in another header": credentials(2, ("x-api-key", credential_of("a-asks-4")[1])),
    "a credential in the ledger": put(trilane__requested=f"{SECRET}a-asks-4"),
}
SPOILED.update({
    "an account of a source that has none": put(trilane__account="a-plain-1"),
    "a credential for a source that has none": lambda case: setattr(
        case.entries[0], "credentials", (credential_of("a-asks-1"),)
    ),
})  # fmt: skip


def test_an_exchange_balances() -> None:
    assert Case().books().differences == []


@pytest.mark.parametrize("change", (lambda case: None, all_failed), ids=("answered", "all failed"))
def test_an_exchange_with_failed_tries_balances(change: Callable[[TriedCase], None]) -> None:
    case = TriedCase()
    change(case)
    assert case.books().differences == []


@pytest.mark.parametrize("name", SPOILED_TRIES)
def test_noticed_of_tries(name: str) -> None:
    case = TriedCase()
    SPOILED_TRIES[name](case)
    assert case.books().found, name


def test_a_cut_exchange_balances() -> None:
    case = Case()
    cut(case)
    assert case.books().differences == []


@pytest.mark.parametrize("name", SPOILED)
def test_noticed(name: str) -> None:
    case = Case()
    SPOILED[name](case)
    assert case.books().found, name


def test_a_metric_that_differs_is_noticed() -> None:
    tally, other = Tally(), Tally()
    tally.add(LINE)
    other.add(LINE)
    assert unequal(tally.metrics, other.metrics) == []
    other.metrics["charge_nanos_total"]["a-plain", "responses", "gpt-5.1"] += 1
    assert len(unequal(tally.metrics, other.metrics)) == 1


def test_tries_are_counted_as_the_metrics_count_them() -> None:
    books = TriedCase().books()
    want = {("a-asks", failed["account"], failed["kind"]): 1 for failed in FAILED}
    assert books.tally.metrics["account_tries_total"] == {**want, ("a-asks", "a-asks-4", "answered"): 1}
    assert books.failed == {("a-asks", "a-asks-1", "rate_limited"): 1}
    metrics, ledger = copy.deepcopy(books.tally.metrics), books.tally.metrics
    assert unequal(metrics, ledger) == []
    metrics["account_tries_total"]["a-asks", "a-asks-1", "rate_limited"] += 1
    assert len(unequal(metrics, ledger)) == 1


def test_draws_as_the_simulator_does() -> None:
    """The simulator answered these two markers so."""
    assert [drawn(marker)["input"] for marker in ("m2", "m3")] == [1231, 3597]
