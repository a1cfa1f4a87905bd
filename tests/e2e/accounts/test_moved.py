"""A conversation that had to move stays while its prompt is in the cache there; what an account keeps is asked for where it is."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from e2e.accounts.accounts_desk import Desk
from e2e.accounts.document import document
from e2e.accounts.operations import BY_NAME, Operation
from waiting import until

pytestmark = pytest.mark.usefixtures("honest")

#: How long an account is left alone, and how long a conversation stays away after its last answer, in seconds.
ASIDE, CACHE = 1, 5
_numbers = itertools.count(1)


def _back(accounts: Desk) -> None:
    until(lambda: not accounts.set_aside(), 20)


def _session(operation: Operation) -> str:
    return f"moved-{operation.name}-{next(_numbers)}"


@pytest.mark.parametrize("operation", [BY_NAME[name] for name in ("responses", "messages-stream", "generate")], ids=lambda it: it.name)
def test_a_conversation_stays_where_it_moved_and_returns(accounts: Desk, operation: Operation) -> None:
    """Of a source whose accounts are asked in their order."""
    terms = {"set_aside_seconds": ASIDE, "prompt_cache_seconds": CACHE}
    accounts.publish(document((1, 1, 1), failover=terms))
    _back(accounts)
    moved, other = _session(operation), _session(operation)
    assert accounts.ask(operation, session=moved).tried == ["a1"]
    assert accounts.ask(operation, session=moved, sim={"status": 503}, at=["a1"]).tried == ["a1", "a2"]
    _back(accounts)
    for _ in range(4):
        assert accounts.ask(operation, session=moved).tried == ["a2"], "it stays"
        assert accounts.ask(operation, session=other).tried == ["a1"], "others have not moved"
        last = time.monotonic()
    time.sleep(max(0.0, last + CACHE + 0.5 - time.monotonic()))
    for _ in range(2):
        assert accounts.ask(operation, session=moved).tried == ["a1"], "it returns"


def test_a_failure_that_sets_nobody_aside_moves_no_conversation(accounts: Desk) -> None:
    operation = BY_NAME["chat"]
    accounts.publish(document((1, 1), failover={"failures": 3, "prompt_cache_seconds": CACHE}))
    _back(accounts)
    session = _session(operation)
    assert accounts.ask(operation, session=session, sim={"status": 503}, at=["a1"]).tried == ["a1", "a2"]
    assert accounts.ask(operation, session=session).tried == ["a1"]


#: Something that the vendor keeps for an account, in a body of Responses.
STATES: dict[str, dict[str, Any]] = {
    "an earlier response": {"previous_response_id": "resp_1"},
    "reasoning": {"input": [{"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, {"role": "user", "content": "hi"}]},
    "a file": {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]},
}


@pytest.mark.parametrize("case", STATES)
def test_what_an_account_keeps_is_asked_for_where_it_is(accounts: Desk, case: str) -> None:
    """`a1` and `a3` share what their vendor keeps, `a2` has none of it."""
    operation = BY_NAME["responses"]
    labels = {"a1": {"state": "org-1"}, "a2": {"state": "org-2"}, "a3": {"state": "org-1"}}
    accounts.publish(document((1, 1, 1), changes=labels, failover={"set_aside_seconds": ASIDE}))
    _back(accounts)
    plain = {"model": "gpt-5.1", "input": "hi"}
    stateful = json.dumps({**plain, **STATES[case]}).encode()
    session = _session(operation)
    # (body, who fails, who is asked, the status)
    for body, failing, tried, status in [
        (json.dumps(plain).encode(), ["a1"], ["a1", "a2"], 200),
        (stateful, [], ["a2"], 200),
    ]:
        sim = {"status": 503} if failing else None
        asked = accounts.ask(operation, session=session, body=body, sim=sim, at=failing or None)
        assert (asked.tried, asked.status) == (tried, status), f"{case}: it follows the conversation"
        _back(accounts)
    session = _session(operation)
    for failing, tried, status in [(["a1"], ["a1", "a3"], 200), (["a1", "a3"], ["a3", "a1"], 529)]:
        asked = accounts.ask(operation, session=session, body=stateful, sim={"status": 529}, at=failing)
        assert (sorted(asked.tried), asked.status) == (sorted(tried), status), f"{case}: {failing}, {asked}"
        assert "a2" not in asked.tried, f"{case}: {failing}"
    _back(accounts)
