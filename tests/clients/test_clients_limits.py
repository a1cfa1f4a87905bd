"""Agents at their limits: one request at a spent budget, and a pause as long as told, then success, at a rate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.limits.limited_document import Book
from e2e.support import run_dir
from limited_agents import CODEX, GEMINI, Agent, Desk, Key

BOOK = Book()
#: Of so little one request spends all.
LITTLE = "0.00000000000000000001"
#: Tokens a minute, a hundred a second. What an agent asks is more than that, so it is let in when nothing is used.
RATE = 6000
#: What is used before the agent asks, until it meets the limit: an agent that starts slowly may come when it is over.
USED_BEFORE = (2500, 5000, 10_000)
#: Gemini CLI takes a wait that is longer than this for final, in seconds.
FINAL = 300

BUDGETS = [(agent, window) for agent in (CODEX, GEMINI) for window in ("day", "month")]
SPENT = {
    (agent, window): BOOK.key(agent.protocol, budget={f"per_{window}": LITTLE}) for agent, window in BUDGETS
}
WITH_ROOM = {agent: BOOK.key(agent.protocol, requests_per_minute=1000) for agent in (CODEX, GEMINI)}
FULL = {agent: BOOK.key(agent.protocol, input_tokens_per_minute=RATE) for agent in (CODEX, GEMINI)}


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with Desk(run_dir("clients-limits"), BOOK) as running:
        yield running


def asked(desk: Desk, key: Key) -> list[dict[str, Any]]:
    """All that has been asked with a key, once no flush brings more."""
    desk.records(key)
    desk.ledger.settle(1)
    return desk.records(key)


@pytest.mark.parametrize("agent", WITH_ROOM, ids=str)
def test_an_agent_with_room_gets_its_answer(agent: Agent, desk: Desk, tmp_path: Path) -> None:
    """What the others are compared with: it is the limit that stops them, nothing else."""
    ran = agent.run(desk, WITH_ROOM[agent], tmp_path)
    assert ran.code == 0, ran
    records = asked(desk, WITH_ROOM[agent])
    assert [record["http.response.status_code"] for record in records] == [200], f"{records}: {ran}"


@pytest.mark.parametrize("agent, window", BUDGETS, ids=str)
def test_a_spent_budget_is_asked_once(agent: Agent, window: str, desk: Desk, tmp_path: Path) -> None:
    key = SPENT[agent, window]
    assert desk.ask(key).status == 200
    desk.records(key)
    refused = desk.ask(key)
    assert refused.header("retry-after") is None, refused
    if 86_400 - time.time() % 86_400 <= FINAL + 60:
        pytest.skip(f"the {window} is about to end, and its budget about to come back: to wait is right")
    ran = agent.run(desk, key, tmp_path)
    assert ran.code != 0, ran
    _, _, *agents = asked(desk, key)
    assert [record.get("error.type") for record in agents] == ["insufficient_quota"], f"{agents}: {ran}"
    assert "quota" in ran.said.lower() or "budget" in ran.said.lower(), f"what its user reads: {ran}"


@pytest.mark.parametrize("agent", FULL, ids=str)
def test_an_agent_waits_at_a_rate_as_long_as_it_is_told(agent: Agent, desk: Desk, tmp_path: Path) -> None:
    """Once: a shorter wait would be refused again, since it is let in when all is drained and not before."""
    key = FULL[agent]
    count = 0
    for used in USED_BEFORE:
        assert desk.ask(key, usage=f"input={used},output=1").status == 200
        desk.records(key, count + 1)
        ran = agent.run(desk, key, tmp_path / str(used))
        records = asked(desk, key)
        agents, count = records[count + 1 :], len(records)
        if len(agents) > 1:
            break
    assert [record["http.response.status_code"] for record in agents] == [429, 200], f"{agents}: {ran}"
    assert agents[0]["trilane.limit"] == "input_tokens", agents
    assert ran.code == 0, ran
