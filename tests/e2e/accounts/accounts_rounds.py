"""Many requests at once, and what is true of each that another account could serve."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Optional

from e2e.accounts.accounts_desk import Asked, Desk
from e2e.ledger_reader import kinds
from e2e.accounts.document import ACCOUNTS
from e2e.accounts.operations import OPERATIONS


def asked_until(end: float, most: int, ask: Callable[[], Asked]) -> Iterator[Asked]:
    """Asks again and again, and gives what was answered before `end` (a monotonic time): `most` at most, one at least.

    A slow machine gets to ask fewer of them while an account is ejected.
    """
    for number in range(most):
        asked = ask()
        if time.monotonic() >= end:
            assert number, "too slow a machine to ask once"
            return
        yield asked


def all_asked(accounts: Desk, pool: ThreadPoolExecutor, asking: list[Callable[[], Asked]]) -> list[Asked]:
    """Asks all of it, several at once, and takes in what the accounts saw."""
    asked = list(pool.map(lambda ask: ask(), asking))
    accounts.journal.check()
    return asked


def clean(case: str, asked: Asked, wanted: dict[str, bytes], kind: Optional[str], simulated: bool = True) -> Asked:
    """A whole 200 with the usual bytes; journal and record agree on who was tried."""
    where = f"{case}, {asked.operation.name}, {asked.marker}"
    assert asked.status == 200 and not asked.trouble, f"{where}: {asked} after {asked.tried}"
    assert asked.plain_body == wanted[asked.operation.name], f"{where}: {asked.plain_body!r}"
    assert "retry-after" not in asked.headers and "x-trilane-error" not in asked.headers, f"{where}: {asked.headers}"
    record, tried = asked.record(), asked.tried
    assert record["trilane.account"] == tried[-1], f"{where}: {tried}, {record}"
    ending = record["trilane.usage.status"], record["trilane.outcome"]
    assert ending == ("complete", "finished"), f"{where}: {record}"
    failed = kinds(record)
    assert record["trilane.tries"] == len(failed) + 1, f"{where}: {record}"
    accounts = [account for account, _ in failed] + tried[-1:]
    assert len(set(accounts)) == len(accounts), f"{where}: asked twice: {record}"
    if simulated:
        # Each try reached its account.
        assert failed == [(account, kind) for account in tried[:-1]], f"{where}: {tried}, {record}"
    return asked


Order = tuple[str, ...]


def orders(accounts: Desk, pool: ThreadPoolExecutor, protocol: str) -> dict[str, Order]:
    """In which order conversations ask the accounts when each one fails, by their sessions. Nobody is set aside."""
    operation = next(operation for operation in OPERATIONS if operation.protocol == protocol)

    def one(session: str) -> tuple[str, Order]:
        asked = accounts.ask(operation, sim={"status": 500}, session=session)
        return session, tuple(dict.fromkeys(asked.tried))

    found = dict(pool.map(one, (f"s{number}" for number in range(24))))
    assert {frozenset(order) for order in found.values()} == {frozenset(ACCOUNTS)}, found
    return found


def meeting(some: list[str], orders: dict[str, Order]) -> str:
    """A conversation that asks all of these before any other, or as many of them as can be."""

    def met(session: str) -> int:
        others = [place for place, account in enumerate(orders[session]) if account not in some]
        return others[0] if others else len(some)

    return max(orders, key=met)
