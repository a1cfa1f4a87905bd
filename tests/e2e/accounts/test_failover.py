"""Accounts that fail before their answer: the client is served by another, as if nothing had been.

Each of the four accounts, and two and three of them together, in every way, in one tier and in two, for the three
protocols, streaming and not. Of every request there is an entry in the journal for each try that reached an
account, and a record that tells the same.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.ledger_reader import kinds
from e2e.accounts.accounts_rounds import all_asked, clean, meeting, orders
from e2e.accounts.document import ACCOUNTS, GROUPS, document, source
from e2e.accounts.failing import UNHEARD, WAYS, Failing
from e2e.accounts.operations import OPERATIONS, Operation

pytestmark = pytest.mark.usefixtures("honest")

#: One, two and three of four.
SETS = [list(some) for size in (1, 2, 3) for some in itertools.combinations(ACCOUNTS, size)]
#: Fewer of them, in which each account is once the only one, in its tier and in all.
SOME = [["a1"], ["a2"], ["a3"], ["a4"], ["a1", "a2"], ["a2", "a3"], ["a1", "a4"]]
SOME += [["a1", "a2", "a3"], ["a1", "a2", "a4"], ["a2", "a3", "a4"]]
TIERS = {"two tiers": (2, 2), "one tier": (4,)}

#: Who takes longer hangs. A machine that is short of time takes a second for an answer now and then.
PATIENCE = 3
HASTY = {"answer_seconds": PATIENCE, "stream_answer_seconds": PATIENCE}

#: What the simulator can be told to do instead of answering, and what the record calls it.
SIMULATED: dict[str, tuple[dict[str, Any], str]] = {
    "401": ({"status": 401}, "unauthorized"),
    "402": ({"status": 402}, "unauthorized"),
    "403": ({"status": 403}, "unauthorized"),
    "429": ({"status": 429}, "rate_limited"),
    "429 and retry-after": ({"status": 429, "retry_after": 30}, "rate_limited"),
    "500": ({"status": 500}, "server_error"),
    "502": ({"status": 502}, "server_error"),
    "503": ({"status": 503}, "overloaded"),
    "504": ({"status": 504}, "server_error"),
    "529": ({"status": 529}, "overloaded"),
    "reset": ({"cut": "head"}, "connection"),
    "reset without reading": ({"cut": "head", "early": "close"}, "connection"),
    "503 without reading": ({"status": 503, "early": "close"}, "overloaded"),
    "429 before reading": ({"status": 429, "early": 1}, "rate_limited"),
}


@pytest.fixture(scope="module")
def failing() -> Iterator[Failing]:
    with Failing() as server:
        yield server


@pytest.mark.parametrize("tiers", TIERS.values(), ids=TIERS)
def test_simulated(
    accounts: Desk, wanted: dict[str, bytes], pool: ThreadPoolExecutor, tiers: tuple[int, ...]
) -> None:
    """By status and by reset, while nobody is set aside: so each account is met failing in each way."""
    accounts.publish(document(tiers, failover={"failures": 100}))
    known = {protocol: orders(accounts, pool, protocol) for protocol in GROUPS}
    plan = plans(2)

    def session(planned: Plan) -> str:
        return meeting(planned[1], known[planned[2].protocol])

    asking = [
        partial(accounts.ask, operation, sim=SIMULATED[way][0], at=some, session=session((way, some, operation)))
        for way, some, operation in plan
    ]
    met: Counter[tuple[str, str]] = Counter()
    for planned, asked in zip(plan, all_asked(accounts, pool, asking)):
        way, some, operation = planned
        tried = clean(f"{way} at {some}", asked, wanted, SIMULATED[way][1]).tried
        met.update((each, account) for account in tried[:-1] for each in (way, operation.name))
    every = [*SIMULATED, *(operation.name for operation in OPERATIONS)]
    missed = [each for each in itertools.product(every, ACCOUNTS) if not met[each]]
    assert not missed, f"never met: {missed}"


@pytest.mark.parametrize("tiers", TIERS.values(), ids=TIERS)
def test_set_aside_meanwhile(
    accounts: Desk, wanted: dict[str, bytes], pool: ThreadPoolExecutor, tiers: tuple[int, ...]
) -> None:
    """The same while each failure sets an account aside for a second, as seven other clients see them fail."""
    accounts.publish(document(tiers))
    plan = plans(1)
    asking = [
        partial(accounts.ask, operation, sim=SIMULATED[way][0], at=some, session=f"{way}{some}")
        for way, some, operation in plan
    ]
    tries: Counter[int] = Counter()
    for (way, some, _), asked in zip(plan, all_asked(accounts, pool, asking)):
        tries[len(clean(f"{way} at {some}", asked, wanted, SIMULATED[way][1]).tried)] += 1
    print(f"requests by their number of tries: {sorted(tries.items())}")


Plan = tuple[str, list[str], Operation]


def plans(protocols: int) -> list[Plan]:
    """Every way at the sets of accounts, with an operation of so many protocols: by turns all operations."""
    plan = []
    turns: Counter[tuple[int, str]] = Counter()
    for number, (way, which) in enumerate(itertools.product(SIMULATED, range(len(SOME)))):
        for more in range(protocols):
            protocol = "ABC"[(number + more) % 3]
            operations = [operation for operation in OPERATIONS if operation.protocol == protocol]
            # So that each set meets each operation.
            plan.append((way, SOME[which], operations[turns[which, protocol] % len(operations)]))
            turns[which, protocol] += 1
    return plan


def test_hanging(accounts: Desk, wanted: dict[str, bytes]) -> None:
    """An account that takes the request and never answers costs the time that it has, and no more. By then some that
    were set aside are back and others are not: whoever has failed for this request is not asked again."""
    accounts.publish(document((2, 2), failover=HASTY))
    plan = [(some, OPERATIONS[(number + more) % 8]) for number, some in enumerate(SETS) for more in (0, 3)]

    def one(planned: tuple[list[str], Operation]) -> None:
        some, operation = planned
        asked = accounts.ask(operation, sim={"stall": "head"}, at=some, session=f"hanging{some}")
        clean(f"hanging at {some}", asked, wanted, "no_answer")
        assert asked.seconds < PATIENCE * len(some) + 5, f"{asked.seconds:.1f} s: {asked.tried}"

    with ThreadPoolExecutor(max_workers=len(plan)) as threads:
        list(threads.map(one, plan))


#: What the record calls the ways of `failing.py`.
RAW = {way: "no_answer" if way == "hangs" else "connection" for way in WAYS}
#: What is wrong with an account that is never reached.
UNREACHED: dict[str, tuple[dict[str, Any], str]] = {
    "has no address": ({"url": "http://no-such-host.invalid:80"}, "no_host"),
    "has no credential": ({"credential": "empty"}, "no_credential"),
}


@pytest.mark.parametrize("way", [*RAW, *UNREACHED])
def test_raw(accounts: Desk, wanted: dict[str, bytes], failing: Failing, way: str) -> None:
    """Refused connections, closes and resets at every point, no HTTP, no address, no credential."""
    sizes = itertools.cycle((1, 2, 3))
    broken: dict[str, list[str]] = {}
    groups = []
    # One, two and three accounts of a source; which source has how many changes from way to way.
    number = [*RAW, *UNREACHED].index(way)
    tiers = list(TIERS.values())[number % 2]
    # Another time for each way: with other clusters those of the way before are not set aside any more.
    haste = HASTY if way == "hangs" else {}
    failover = {**haste, "failures": 1 if tiers == (2, 2) else 100, "set_aside_seconds": 1 + number}
    for protocol in "ABC"[number % 3 :] + "ABC"[: number % 3]:
        some = [list(each) for each in itertools.combinations(ACCOUNTS, next(sizes))][number % 4]
        broken[protocol] = some
        changes = {account: change(failing, way, account) for account in some}
        groups.append(source(protocol, tiers, failover=failover, changes=changes))
    heard = len(failing.heads)
    accounts.credentials.put("empty", "")
    accounts.publish({**document(tiers), "groups": groups})
    plan = [(operation, session) for operation in OPERATIONS for session in range(3)]

    def one(planned: tuple[Operation, int]) -> list[tuple[str, str]]:
        operation, session = planned
        asked = accounts.ask(operation, session=f"{way}{session}{operation.name}")
        some = broken[operation.protocol]
        clean(f"{way}: {some}", asked, wanted, None, simulated=False)
        failed = kinds(asked.record())
        assert {account for account, _ in failed} <= set(some), f"{way}: {some}: {failed}"
        assert {kind for _, kind in failed} <= {kind_of(way)}, f"{way}: {failed}"
        return failed

    with ThreadPoolExecutor(max_workers=24) as threads:
        failed = list(itertools.chain.from_iterable(threads.map(one, plan)))
    assert failed, f"{way}: nobody met it"
    judge_heads(accounts, failing, heard)
    if way not in UNREACHED and way != "refuses" and way not in UNHEARD:
        assert len(failing.heads) > heard, f"{way}: no request came"


def change(failing: Failing, way: str, account: str) -> dict[str, Any]:
    """The account's fields that make it fail so."""
    return UNREACHED[way][0] if way in UNREACHED else {"url": failing.url(way, account)}


def kind_of(way: str) -> str:
    return UNREACHED[way][1] if way in UNREACHED else RAW[way]


def judge_heads(accounts: Desk, failing: Failing, since: int) -> None:
    """The failing accounts, too, got their own credential only."""
    for way, head in failing.heads[since:]:
        if not head:
            continue  # a connection that was closed before anything was sent
        first, *lines = head.split(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        _, account, path = first.split()[1].split("/", 2)
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        host = f"127.0.0.1:{failing.ports[way]}"
        wrong = accounts.journal.wrong(f"{way}: {first}", account, f"/{path}", headers, host)
        assert not wrong, wrong


def test_no_cluster(accounts: Desk, wanted: dict[str, bytes]) -> None:
    """An account whose cluster Envoy does not have (it refused it, say) is passed over. Where it had one before, a first
    request may find out."""
    accounts.publish(document((4,), failover={"failures": 100}))
    found_out: Counter[str] = Counter()
    with accounts.clusters_without("account/acc-b/a1", "account/acc-a/a2", "account/acc-a/a3", "account/acc-c/a4"):
        found: Counter[str] = Counter()
        for operation, session in itertools.product(OPERATIONS[::2], range(16)):
            asked = accounts.ask(operation, session=str(session))
            failed = kinds(asked.record())
            if asked.status == 502:
                assert len(failed) == 1, f"{asked}: {failed}"
                found_out.update(f"{operation.protocol}{account}" for account, _ in failed)
            else:
                clean("no cluster", asked, wanted, None, simulated=False)
            assert {kind for _, kind in failed} <= {"no_host"}, failed
            found.update(f"{operation.protocol}{account}" for account, _ in failed)
        assert set(found) == {"Ba1", "Aa2", "Aa3", "Ca4"}, found
        assert set(found_out) <= set(found) and max(found_out.values(), default=0) <= 1, found_out
