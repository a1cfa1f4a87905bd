"""An account that failed is left alone for a while, and then is asked again."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.accounts.accounts_rounds import all_asked, asked_until
from e2e.accounts.document import ACCOUNTS, document
from e2e.accounts.operations import BY_NAME, OPERATIONS, Operation

pytestmark = pytest.mark.usefixtures("honest")

#: One of a kind; more are in `tests/golden/cases/accounts.txt`.
FAILURES: list[dict[str, Any]] = [{"status": 401}, {"status": 529}, {"cut": "head"}]
ONE_OF_EACH = [BY_NAME[name] for name in ("chat", "messages", "generate-stream")]


def home(accounts: Desk, operation: Operation, session: str) -> str:
    """Whom a conversation prefers, with nobody set aside."""
    asked = accounts.ask(operation, session=session)
    assert asked.status == 200 and len(asked.tried) == 1, f"{asked} {asked.tried}"
    return asked.tried[0]


def wait_back(accounts: Desk, seconds: float) -> float:
    """Waits until nobody is set aside, and says how long that took."""
    began = time.monotonic()
    while accounts.set_aside():
        assert time.monotonic() - began < seconds, f"still set aside: {accounts.set_aside()}"
        time.sleep(0.02)
    return time.monotonic() - began


@pytest.mark.parametrize("operation", ONE_OF_EACH, ids=lambda operation: operation.name)
def test_aside_and_back(accounts: Desk, operation: Operation) -> None:
    """One failure is enough by default. As long as it lasts the account hears nothing, then it has its own again."""
    accounts.publish(document((4,), failover={"set_aside_seconds": 3, "tries": 4}))
    wait_back(accounts, 30)
    session = f"aside {operation.name}"
    first = home(accounts, operation, session)
    # It is ejected between the two instants, which on a busy machine may be far apart.
    before = time.monotonic()
    failed = accounts.ask(operation, session=session, sim={"status": 503}, at=[first])
    since = time.monotonic()
    assert failed.status == 200 and failed.tried[0] == first and len(failed.tried) == 2, failed.tried
    group = failed.record()["trilane.source"]
    assert (group, first) in accounts.set_aside()
    for asked in asked_until(before + 3, 10, partial(accounts.ask, operation, session=session)):
        assert asked.status == 200 and len(asked.tried) == 1 and first not in asked.tried, asked.tried
    wait_back(accounts, 30)
    assert before + 3 <= time.monotonic() < since + 10, time.monotonic() - since
    assert home(accounts, operation, session) == first, "it does not have its conversations back"


@pytest.mark.parametrize("number", range(len(FAILURES)), ids=[str(sim) for sim in FAILURES])
def test_what_sets_aside(accounts: Desk, number: int) -> None:
    """Every failure of an account does, not only those of servers."""
    # With other clusters nobody is set aside.
    accounts.publish(document((4,), failover={"set_aside_seconds": 30 + number}))
    sim = FAILURES[number]
    operation = BY_NAME["responses"]
    first = home(accounts, operation, "what")
    asked = accounts.ask(operation, session="what", sim=sim, at=[first])
    assert asked.status == 200 and asked.tried[0] == first, asked.tried
    assert accounts.set_aside() == [(asked.record()["trilane.source"], first)], accounts.set_aside()


def test_only_after_so_many_failures(accounts: Desk) -> None:
    """`failures: 3`: two in a row are forgiven, and a good answer wipes them out."""
    accounts.publish(document((4,), failover={"failures": 3, "set_aside_seconds": 2}))
    operation = BY_NAME["messages"]
    first = home(accounts, operation, "three")
    plan = ["fail", "fail", "good", "fail", "fail", "good", "fail", "fail"]
    for step in plan:
        sim = {"status": 500} if step == "fail" else None
        asked = accounts.ask(operation, session="three", sim=sim, at=[first] if sim else None)
        assert asked.status == 200 and asked.tried[0] == first, f"{plan}: {asked.tried}"
    assert not accounts.set_aside(), "set aside too early"
    asked = accounts.ask(operation, session="three", sim={"status": 500}, at=[first])
    assert asked.status == 200 and asked.tried[0] == first, asked.tried
    assert accounts.set_aside() == [(asked.record()["trilane.source"], first)], accounts.set_aside()
    assert first not in accounts.ask(operation, session="three").tried


@pytest.mark.parametrize("tiers", [(2, 2), (4,), (1, 1), (2,)], ids=str)
def test_all_set_aside(accounts: Desk, pool: ThreadPoolExecutor, tiers: tuple[int, ...]) -> None:
    """With nobody left the source goes on: whoever is good again is found at once, in the same request."""
    accounts.publish(document(tiers, failover={"set_aside_seconds": 30}))
    size = sum(tiers)
    for operation in ONE_OF_EACH:
        bad = accounts.ask(operation, sim={"status": 500})
        assert bad.status == 500 and set(bad.tried) == set(ACCOUNTS[:size]), f"{bad} {bad.tried}"
    assert len(accounts.set_aside()) == 3 * size, accounts.set_aside()
    sessions = ("one", "two", "three", "four")
    asking = [
        partial(accounts.ask, operation, session=session) for operation in OPERATIONS for session in sessions
    ]
    for asked in all_asked(accounts, pool, asking):
        assert asked.status == 200 and len(asked.tried) == 1, f"{asked} {asked.tried}"
    good = ACCOUNTS[size - 1]
    others = [account for account in ACCOUNTS[:size] if account != good]
    asking = [partial(accounts.ask, operation, sim={"status": 429}, at=others) for operation in OPERATIONS]
    for asked in all_asked(accounts, pool, asking):
        assert asked.status == 200 and asked.tried[-1] == good, f"{asked} {asked.tried}"


def test_next_tier_only_without_the_first(accounts: Desk) -> None:
    """The second tier hears of nobody while one of the first is good, and of everybody while none is."""
    accounts.publish(document((2, 2), failover={"set_aside_seconds": 60}))
    operation = BY_NAME["chat"]
    sessions = [str(number) for number in range(24)]
    used = {home(accounts, operation, session) for session in sessions}
    assert used == {"a1", "a2"}, used
    for down in (["a1"], ["a1", "a2"]):
        number = 0
        while {account for _, account in accounts.set_aside()} != set(down):
            asked = accounts.ask(operation, session=sessions[number % 24], sim={"status": 529}, at=down)
            assert asked.status == 200, asked
            number += 1
        left = {"a2"} if down == ["a1"] else {"a3", "a4"}
        tried = [accounts.ask(operation, session=session).tried for session in sessions]
        assert {tuple(each) for each in tried} == {(account,) for account in left}, tried
