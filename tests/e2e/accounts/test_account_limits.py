"""Limits of an account: what it may get, from whomever; and the least busy account first."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from typing import Any, Optional

import pytest
from e2e.accounts.accounts_desk import Asked, Desk
from e2e.accounts.document import ACCOUNT_OF, account
from e2e.accounts.operations import BY_NAME, is_native_error
from e2e.accounts.own_groups import document_of, group_of, headers_of
from e2e.accounts.scripted import Answer, ScriptedAccount
from e2e.ledger_reader import kinds
from waiting import until

pytestmark = pytest.mark.usefixtures("honest")

#: Each case has a group, and so counters, of its own.
_numbers = itertools.count()
CHAT, STREAM = BY_NAME["chat"], BY_NAME["chat-stream"]


class Limited:
    """A group whose accounts `a1`, `a2`, … have these limits."""

    def __init__(self, desk: Desk, *limits: Optional[dict[str, int]], same_priority: bool = False, **failover: Any) -> None:
        self.desk = desk
        name = f"limited-{next(_numbers)}"
        accounts = [
            account("A", f"a{n + 1}", 0 if same_priority else n, **({"limits": limited} if limited else {}))
            for n, limited in enumerate(limits)
        ]
        more = {"failover": failover} if failover else {}
        self.group = group_of(name, "A", accounts, clients="current", **more)
        desk.publish(document_of(self.group))

    def ask(self, session: Optional[str] = None, **sim: Any) -> Asked:
        return self.desk.ask(CHAT, headers=headers_of(self.group, CHAT), session=session, **({"sim": sim} if sim else {}))

    @contextlib.contextmanager
    def under_way(self) -> Iterator[str]:
        """A stream that lasts as long as this; gives its account."""
        path, body = STREAM.request()
        marker = self.desk.new_marker()
        headers = self.desk.headers(STREAM, marker, sim={"gap-ms": 100, "events": 600})
        headers.update(headers_of(self.group, STREAM))
        with self.desk.http.stream("POST", path, headers=headers, content=body) as answer:
            assert answer.status_code == 200, answer
            # The stream is closed with its iterator.
            pieces = answer.iter_raw()
            next(pieces)
            yield ACCOUNT_OF[answer.headers["x-sim-upstream"]]


@pytest.mark.parametrize(
    ("limits", "tried"),
    [
        ({"requests_per_minute": 2}, ["a1", "a1", "a2"]),
        # The simulator reports 1234 tokens of input, 56 of output.
        ({"input_tokens_per_minute": 1200}, ["a1", "a2", "a2"]),
        ({"output_tokens_per_minute": 2040}, ["a1", "a1", "a1"]),
    ],
    ids=lambda it: "-".join(it),
)
def test_an_account_at_its_limit_is_passed_over(accounts: Desk, limits: dict[str, int], tried: list[str]) -> None:
    """By way of the hop at first, and directly once it has answered."""
    group = Limited(accounts, limits, None)
    for want in tried:
        asked = group.ask()
        assert (asked.status, asked.tried) == (200, [want]), asked
        record = asked.record()
        assert record["trilane.account"] == want and record["trilane.tries"] == 1, record
        assert kinds(record) == ([("a1", "account_limit")] if want == "a2" else []), record


def test_all_are_at_their_limits(accounts: Desk) -> None:
    group = Limited(accounts, {"requests_per_minute": 1}, {"requests_per_minute": 1})
    assert [group.ask().tried for _ in range(2)] == [["a1"], ["a2"]]
    asked = group.ask()
    assert (asked.status, asked.tried) == (429, []), asked
    assert 1 <= int(asked.headers["retry-after"]) <= 60, asked.headers
    assert is_native_error("A", asked.body) and json.loads(asked.body)["error"]["code"] == "rate_limit_exceeded", asked.body
    assert "trilane.charge" not in asked.record()


def test_an_only_account(accounts: Desk) -> None:
    group = Limited(accounts, {"requests_per_minute": 1})
    assert group.ask().status == 200
    asked = group.ask()
    assert (asked.status, asked.tried) == (429, []), asked
    assert 1 <= int(asked.headers["retry-after"]) <= 60, asked.headers


def test_requests_at_a_time(accounts: Desk) -> None:
    group = Limited(accounts, {"concurrent_requests": 1}, None)
    assert group.ask().tried == ["a1"], "it has answered"
    with group.under_way() as first:
        assert first == "a1"
        assert group.ask().tried == ["a2"], "one is under way"
    # Its client has left: the place is free as soon as Envoy knows that.
    until(lambda: group.ask().tried == ["a1"], 10)


def test_a_failed_attempt_gives_its_place_back(accounts: Desk) -> None:
    """At once, and not only when the request is over, which another account answers for a while."""
    words = b'data: {"id":"x","object":"chat.completion.chunk","model":"gpt-5.1","choices":[{"index":0,"delta":{"content":"ok"}}]}\n\n'
    with ScriptedAccount(Answer.json(503, "{}")) as one, ScriptedAccount(Answer.events(words, 4.0, b"data: [DONE]\n\n")) as two:
        limited = account("A", "a1", 0, id="one", url=one.url, limits={"concurrent_requests": 1})
        other = account("A", "a2", 1, id="two", url=two.url)
        group = group_of(f"limited-{next(_numbers)}", "A", [limited, other], clients="current", failover={"failures": 100})
        accounts.publish(document_of(group))
        path, body = STREAM.request()
        headers = {**headers_of(group, STREAM), "content-type": "application/json"}
        with accounts.http.stream("POST", path, headers=headers, content=body) as answer:
            pieces = answer.iter_raw()
            next(pieces)
            assert (one.asked, two.asked) == (1, 1), "the first has failed, the second is at it"
            accounts.http.post(path, headers=headers, content=body)
            assert one.asked == 2, "its place is free"


def test_the_least_busy_first(accounts: Desk) -> None:
    """Requests that name no session; those that do keep to theirs."""
    group = Limited(accounts, None, None, same_priority=True, order="least_busy")
    asked = {group.ask(session=f"s{number}").tried[0] for number in range(40)}
    assert asked == {"a1", "a2"}, "both have answered"
    with group.under_way() as busy, group.under_way() as other:
        assert {busy, other} == {"a1", "a2"}
        with group.under_way() as third, group.under_way() as fourth:
            assert {third, fourth} == {"a1", "a2"}
    until(lambda: _one_is_idle(group), 10)
    with group.under_way() as busy:
        for _ in range(5):
            assert group.ask().tried != [busy], "the other is idle"
        homes = {session: group.ask(session=session).tried for session in ("s1", "s2", "s3", "s4", "s5", "s6")}
        assert [busy] in homes.values(), "a session has its account, busy or not"


def _one_is_idle(group: Limited) -> bool:
    with group.under_way() as busy:
        return group.ask().tried != [busy]


def test_without_the_order_a_key_keeps_its_account(accounts: Desk) -> None:
    group = Limited(accounts, None, None, same_priority=True)
    with group.under_way() as busy:
        assert [group.ask().tried for _ in range(5)] == [[busy]] * 5
