"""The soak's books notice what must not be: each case spoils one side of an exchange that balances."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from soaking.accounts import SECRET
from soaking.books import Books, Tally
from soaking.documents import ACCOUNTS, KINDS, charge
from soaking.draw import drawn
from soaking.limited import Admitted, Spending
from soaking.metrics import unequal
from soaking.seen import Seen
from soaking.shapes import Plan
from soaking.sources import Entry

ISSUED = {**dict.fromkeys(KINDS, 0), "input": 210, "cache_read": 1024, "output": 24, "reasoning": 32}
CHARGE = charge(0, "a-plain", "A", "gpt-5.1", ISSUED)
AMOUNT = f"{CHARGE.normalize():f}" if CHARGE else ""
LINE: dict[str, Any] = {
    "timestamp": "2026-11-22T12:00:00.000Z",
    "duration_ms": 12,
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
    "trilane.charge": AMOUNT,
    "trilane.currency": "USD",
    "trilane.spent.key.day": AMOUNT,
    "trilane.spent.key.month": AMOUNT,
    "trilane.spent.group.day": AMOUNT,
    "trilane.spent.group.month": AMOUNT,
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
TRIED.update({name: TRIED["trilane.charge"] for name in LINE if name.startswith("trilane.spent")})

#: A request that a limit of its key has refused.
LIMITED: dict[str, Any] = {
    **{name: LINE[name] for name in LINE if not name.startswith(("gen_ai.usage", "trilane.spent", "trilane.charge"))},
    "http.response.status_code": 429,
    "upstream": None,
    "trilane.outcome": "refused",
    "trilane.usage.status": "none",
    "error.type": "rate_limit_exceeded",
    "trilane.key.id": "key-few-requests",
    "trilane.group": "mixed-two",
    "trilane.multiplier": "2.0000",
    "trilane.limit": "requests",
    "trilane.limit.scope": "key",
}
del LIMITED["trilane.currency"], LIMITED["trilane.upstream_request_id"]


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
            key="a-plain",
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
        self.plan.key, self.plan.group, self.plan.ending = "a-asks", "a-asks", "account fails"
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


class LimitedCase(Case):
    """A request that a limit of its key has refused."""

    def __init__(self) -> None:
        super().__init__()
        self.plan.key, self.plan.group = "few-requests", "mixed-two"
        self.seen.status, self.seen.error = 429, "rate_limit_exceeded"
        self.entries, self.lines = [], [copy.deepcopy(LIMITED)]


def put(**members: Any) -> Callable[[Case], None]:
    """Other values in the record; names have `__` for dots."""
    return lambda case: case.lines[0].update({name.replace("__", "."): value for name, value in members.items()})


def drop(name: str) -> Callable[[Case], None]:
    return lambda case: case.lines[0].pop(name)


#: What is spent, as `put` has names.
SPENT = [name.replace(".", "__") for name in LINE if name.startswith("trilane.spent")]


def cut(case: Case) -> None:
    """The same exchange, broken off by the source: the record is a lower bound."""
    case.plan.ending = "source cuts in answer"
    case.seen.complete = False
    case.lines[0].update({"trilane.outcome": "upstream_reset", "trilane.usage.status": "estimated"})


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
    "estimated, though all of it came": put(trilane__usage__status="estimated"),
    "free, though the group does not say so": put(trilane__usage__status="partial"),
    "an estimate of what was reported": put(trilane__estimated__output_tokens=5),
    "another outcome": put(trilane__outcome="truncated"),
    "the last digit of the charge": put(trilane__charge=str(Decimal(LINE["trilane.charge"]) + Decimal("1e-16"))),
    "a charge in another notation": put(trilane__charge=LINE["trilane.charge"] + "0"),
    "no charge": drop("trilane.charge"),
    "a charge that is not in what is spent": put(**dict.fromkeys(SPENT, "0")),
    "a charge that is in what is spent twice": put(**dict.fromkeys(SPENT, str(2 * Decimal(AMOUNT)))),
    "a charge that is in the key's spent day twice": put(trilane__spent__key__day=str(2 * Decimal(AMOUNT))),
    "the last digit of what is spent": put(trilane__spent__group__month=str(Decimal(AMOUNT) + Decimal("1e-16"))),
    "nothing said of what is spent": lambda case: [case.lines[0].pop(name.replace("__", ".")) for name in SPENT],
    "nothing said of what the group has spent in the month": drop("trilane.spent.group.month"),
    "a limit that was not met": put(trilane__limit="requests", trilane__limit__scope="key"),
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
    line.update({name: "0" for name in line if name.startswith("trilane.spent")})
    line.update(
        {"http.response.status_code": 529, "trilane.outcome": "upstream_error", "trilane.usage.status": "failed"}
    )


def refused(case: TriedCase) -> None:
    """Nobody took the connection of the first try, which was sent directly. That balances."""
    reason = "delayed connect error: Connection refused"
    case.failed[0].update(kind="connection", status=0, reason=reason)
    case.entries.pop(0)


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


def later(case: Case, seconds: float, change: Callable[[dict[str, Any]], None]) -> None:
    """A second exchange, otherwise the same, of which the books have only the line."""
    began = datetime.fromisoformat("2026-11-22T12:00:00+00:00") + timedelta(seconds=seconds)
    line = {**copy.deepcopy(LINE), "timestamp": began.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
    change(line)
    case.lines.append(line)


SPOILED_LIMITS: dict[str, Callable[[LimitedCase], Any]] = {
    "a limit that the key does not have": put(trilane__limit="output_tokens"),
    "a limit of the group, which has none that small": put(trilane__limit__scope="group"),
    "no limit": drop("trilane.limit"),
    "it was let through": lambda case: case.entries.append(
        Entry(7, "1-c0-1", "u-1", "answered", 200, dict(ISSUED), False, "a_official")
    ),
    "the client saw the source's own 429": lambda case: setattr(case.seen, "error", ""),
    "the client saw another code": lambda case: setattr(case.seen, "error", "insufficient_quota"),
    "the client saw 200": lambda case: setattr(case.seen, "status", 200),
    "another status": put(**{"http__response__status_code": 503}),
    "usage": put(gen_ai__usage__input_tokens=1, gen_ai__usage__output_tokens=1),
    "another outcome": put(trilane__outcome="answered"),
    "it is in what is spent": put(**dict.fromkeys(SPENT, "0")),
    "a key that nothing limits": lambda case: [
        setattr(case.plan, "key", "mixed-two"),
        put(trilane__key__id="key-mixed-two")(case),
    ],
    "a slot that is not free": lambda case: setattr(case.plan, "ending", "slot is free"),
}


def test_a_refusal_by_a_limit_balances() -> None:
    books = LimitedCase().books()
    assert books.differences == []
    assert books.tally.metrics["limited_total"] == {("mixed-two", "requests", "key"): 1}
    assert books.limited.read == {"rate_limit_exceeded": 1}


def test_a_refusal_that_only_one_side_knows_is_noticed() -> None:
    sides: dict[str, Callable[[Books], None]] = {
        "the client": lambda books: books.limited.client(429, "rate_limit_exceeded"),
        "the ledger": lambda books: books.limited.record(LIMITED, was_read=True),
    }
    for name, tell in sides.items():
        books = LimitedCase().books()
        tell(books)
        books.close()
        assert books.found, name
    # A source's own 429, and a refusal whose client had left, are on one side by nature.
    books = LimitedCase().books()
    books.limited.client(429, "")
    books.limited.record(LIMITED, was_read=False)
    books.close()
    assert books.differences == []


@pytest.mark.parametrize("name", SPOILED_LIMITS)
def test_noticed_of_limits(name: str) -> None:
    case = LimitedCase()
    SPOILED_LIMITS[name](case)
    assert case.books().found, name


def test_what_is_spent_is_the_sum_of_the_charges() -> None:
    """Of two lines in either order, the greater spent amount is the last; and a new day begins with nothing."""
    amount = Decimal(AMOUNT)

    def spent(line: dict[str, Any], day: Decimal, month: Decimal) -> None:
        for name in line:
            if name.startswith("trilane.spent"):
                line[name] = str(day if name.endswith("day") else month)

    cases: list[tuple[str, float, Decimal, Decimal, bool]] = [
        ("the same day", 60, 2 * amount, 2 * amount, True),
        ("the second is not counted", 60, amount, amount, False),
        ("the second is counted twice", 60, 3 * amount, 3 * amount, False),
        ("the next day", 86_400, amount, 2 * amount, True),
        ("a day that goes on after midnight", 86_400, 2 * amount, 2 * amount, False),
        ("the next month", 10 * 86_400, amount, amount, True),
        ("a month that goes on", 10 * 86_400, amount, 2 * amount, False),
    ]
    for name, seconds, day, month, balances in cases:
        for turned in (False, True):
            case = Case()
            later(case, seconds, lambda line: spent(line, day, month))
            spending = Spending()
            for line in case.lines[:: -1 if turned else 1]:
                spending.add(line)
            assert (spending.wrong() == []) == balances, f"{name}, turned: {turned}: {spending.wrong()}"


def test_more_than_a_limit_admits_is_noticed() -> None:
    """Twelve requests a minute: a whole limit at once, then one every five seconds."""
    cases: list[tuple[str, list[float], bool]] = [
        ("a limit at once", [0.0] * 12, True),
        ("one more", [0.0] * 13, False),
        ("and then as it drains", [0.0] * 12 + [5.0 * number for number in range(1, 20)], True),
        ("and then faster", [0.0] * 12 + [4.0 * number for number in range(1, 20)], False),
    ]
    for name, times, balances in cases:
        case = Case()
        case.lines.clear()
        for seconds in times:
            later(case, seconds, lambda line: line.update({"trilane.key.id": "key-few-requests"}))
        admitted = Admitted()
        for line in case.lines:
            admitted.add(line)
        assert (admitted.wrong() == []) == balances, f"{name}: {admitted.wrong()}"


def test_an_exchange_balances() -> None:
    assert Case().books().differences == []


@pytest.mark.parametrize("change", (lambda case: None, refused, all_failed), ids=("answered", "refused", "all failed"))
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
    # A metric of limits that counts what the ledger does not have: a refusal, and use that could not be counted.
    for name, labels in (("limited_total", ("a-plain", "requests", "key")), ("limit_lost_total", ())):
        other.metrics = copy.deepcopy(tally.metrics)
        other.metrics[name][labels] += 1
        assert len(unequal(other.metrics, tally.metrics)) == 1, name


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
