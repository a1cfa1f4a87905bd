"""Requests of one conversation meet one account, whose prompt cache then knows them; and no client decides which.

A conversation is a key and the session that the agent names. The shares that are measured here are printed
(`pytest -rP`) and noted as properties of the tests.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Optional

import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.accounts.document import ACCOUNT_OF, ACCOUNTS, document
from e2e.accounts.operations import BY_NAME

#: Less than there are keys.
CONVERSATIONS = 200
#: How agents name their session; `None`: not at all.
NAMES = ("x-claude-code-session-id", "session-id", "session_id", "x-session-id", None)
#: The one account that fails, where one does.
DOWN = "a2"
OPERATIONS = [BY_NAME[name] for name in ("chat", "messages-stream", "generate")]
#: Of equal accounts none has less of the conversations than this, nor more: their ids are hashed.
FAIR = (0.15, 0.35)

Noted = Callable[[str, object], None]
pytestmark = pytest.mark.usefixtures("honest")


class Conversation(NamedTuple):
    """What stays the same in all of its requests."""

    protocol: int
    key: int
    name: Optional[str]
    session: str

    def ask(self, desk: Desk, **more: Any) -> Asked:
        """One request of it."""
        headers = {**({self.name: self.session} if self.name else {}), **more.pop("headers", {})}
        asked = desk.ask(OPERATIONS[self.protocol], key=self.key, headers=headers, **more)
        assert asked.status == 200, asked
        return asked


#: Each has a key of its own or a session of its own. None of the numbers is the same in two sources.
TALKS = [
    Conversation(n % 3, n if name is None else n % 40, name, f"session-{n}")
    for n in range(CONVERSATIONS)
    for name in (NAMES[n % len(NAMES)],)
]
Served = Mapping[Conversation, list[str]]


def served(desk: Desk, talks: Iterable[Conversation], times: int = 1, **more: Any) -> Served:
    """The accounts that answered, by conversation. All requests are mixed, on several connections and workers."""
    order = [talk for talk in talks for _ in range(times)]
    random.Random(1).shuffle(order)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda talk: talk.ask(desk, **more), order))
    found: dict[Conversation, list[str]] = {}
    for talk, asked in zip(order, answers):
        found.setdefault(talk, []).append(ACCOUNT_OF[asked.headers["x-sim-upstream"]])
    return found


def on_one_account(found: Served) -> float:
    """The share of repeats that met the account of the conversation's first request."""
    same = sum(account == accounts[0] for accounts in found.values() for account in accounts[1:])
    return same / sum(len(accounts) - 1 for accounts in found.values())


def parts(found: Served) -> dict[str, float]:
    """Each account's part of the conversations, by their first requests."""
    counts = Counter(accounts[0] for accounts in found.values())
    return {account: round(counts[account] / len(found), 3) for account in ACCOUNTS}


def tell(note: Noted, **measured: object) -> None:
    for name, value in measured.items():
        note(name, value)
        print(f"{name}: {value}")


@pytest.fixture(scope="module")
def equal(accounts: Desk) -> Desk:
    """Four equal accounts in one tier."""
    accounts.publish(document((4,), failover={"set_aside_seconds": 5}))
    return accounts


@pytest.fixture(scope="module")
def homes(equal: Desk) -> dict[Conversation, str]:
    """The account of each conversation while all are up."""
    return {talk: accounts[0] for talk, accounts in served(equal, TALKS).items()}


def test_a_conversation_stays_with_its_account(equal: Desk, record_property: Noted) -> None:
    found = served(equal, TALKS, 3)
    share, each = on_one_account(found), parts(found)
    tell(record_property, conversations=len(found), repeats_on_the_same_account=share, parts=each)
    assert share == 1.0, {talk: accounts for talk, accounts in found.items() if len(set(accounts)) > 1}
    for account, part in each.items():
        assert FAIR[0] <= part <= FAIR[1], f"{account}: {each}"
    for name in NAMES:
        some = parts({talk: accounts for talk, accounts in found.items() if talk.name == name})
        assert min(some.values()) > 0, f"{name}: {some}"


def test_one_of_four_down_moves_only_its_own(
    equal: Desk, homes: dict[Conversation, str], record_property: Noted
) -> None:
    own = {talk for talk, home in homes.items() if home == DOWN}
    fails: dict[str, Any] = {"sim": {"status": 503}, "at": [DOWN]}
    first = next(iter(own)).ask(equal, **fails)
    assert first.tried[0] == DOWN and len(first.tried) == 2, first.tried
    found = served(equal, TALKS, 2, **fails)
    stray = {talk: accounts for talk, accounts in found.items() if talk not in own and set(accounts) != {homes[talk]}}
    moved = {talk: found[talk] for talk in own}
    each = parts(moved)
    tell(
        record_property,
        conversations_of_the_account_that_is_down=len(own),
        of_these_moved=sum(DOWN not in accounts for accounts in moved.values()),
        of_the_others_moved=len(stray),
        parts_of_the_moved=each,
        repeats_of_the_moved_on_the_same_account=on_one_account(moved),
    )
    assert not stray, stray
    assert each.pop(DOWN) == 0, moved
    assert min(each.values()) > 0.1, f"not spread over the others: {each}"
    # Where the time that it is set aside for ends in between, one of them may come to another one.
    assert on_one_account(moved) >= 0.9, moved

    back = time.monotonic() + 20
    one_of_each = {talk.protocol: talk for talk in own}.values()  # each source ejects its account by itself
    while any(found != [DOWN] for found in served(equal, one_of_each).values()):
        assert time.monotonic() < back, f"{DOWN} is not asked any more"
        time.sleep(0.1)
    again = {talk: accounts[0] for talk, accounts in served(equal, TALKS).items()}
    assert again == homes, {talk: account for talk, account in again.items() if account != homes[talk]}


def test_the_session_alone_never_decides(
    equal: Desk, homes: dict[Conversation, str], record_property: Noted
) -> None:
    """Many clients with one session id do not gather on one account."""
    crowd = [Conversation(1, key, "x-session-id", "all-of-us") for key in range(CONVERSATIONS)]
    found = served(equal, crowd)
    each = parts(found)
    # The same sessions under two keys: as often on one account as chance has it.
    pairs = [[Conversation(0, key, "session-id", f"pair-{n}") for key in (50, 51)] for n in range(100)]
    both = served(equal, [talk for pair in pairs for talk in pair])
    together = sum(both[one] == both[other] for one, other in pairs) / len(pairs)
    tell(record_property, parts_of_many_keys_with_one_session=each, one_session_of_two_keys_on_one_account=together)
    for account, part in each.items():
        assert FAIR[0] <= part <= FAIR[1], f"{account}: {each}"
    assert 0.1 <= together <= 0.4


@pytest.mark.parametrize("name", ("x-trilane-affinity", "X-Trilane-Account", "x-trilane-cluster"))
def test_our_own_headers_from_a_client_do_nothing(equal: Desk, homes: dict[Conversation, str], name: str) -> None:
    for value in ("0123456789abcdef", "account/acc-a/a1"):
        found = served(equal, TALKS[:60], headers={name: value})
        assert {talk: accounts[0] for talk, accounts in found.items()} == {talk: homes[talk] for talk in found}, value


def test_weights(accounts: Desk, record_property: Noted) -> None:
    accounts.publish(document((2,), changes={"a1": {"weight": 3}, "a2": {"weight": 1}}))
    found = served(accounts, TALKS, 2)
    each = parts(found)
    tell(record_property, parts_with_weights_3_to_1=each, repeats_on_the_same_account=on_one_account(found))
    assert on_one_account(found) == 1.0
    assert 0.65 <= each["a1"] <= 0.85 and each["a1"] + each["a2"] == pytest.approx(1), each

