"""Agents whose gateway has no account that its vendor takes: they end, and say whom to tell."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.refusing_vendor import RefusingVendor
from e2e.support import run_dir
from limited_agents import _FOREIGN, _PROXIES, MODULES, PROMPT
from stack import SAMPLE_DOCUMENT, Stack

#: What a person reads of it.
TOLD = "The gateway's own account was refused by the model vendor."
WHAT_TO_DO = "tell the operator of this gateway"
#: For how long Claude Code may go on once it has asked, in seconds.
AT_ONCE = 5.0
#: For how long any agent may run: it starts slowly on a busy machine, and some try again by themselves.
PATIENCE = 180.0


@dataclasses.dataclass(frozen=True)
class Ended:
    """What came of an agent's run."""

    code: int
    said: str
    #: From its first request to its end, in seconds.
    seconds: float
    #: What it asked for with its key: the ledger's lines.
    records: list[dict[str, Any]]


class Refused:
    """A gateway whose vendor knows none of its credentials."""

    def __init__(self, stack: Stack, vendor: RefusingVendor) -> None:
        self._stack = stack
        self._vendor = vendor

    @property
    def url(self) -> str:
        return self._stack.base_url

    def run(self, home: Path, program: str, arguments: list[str], environment: dict[str, str]) -> Ended:
        """Runs an agent in a fresh home."""
        if not shutil.which("node"):
            pytest.skip("node is not there")
        path = MODULES / ".bin" / program
        if not path.exists():
            pytest.fail(f"{path} is not there: run `make clients-test`")
        work = home / "work"
        work.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not _FOREIGN.search(name)}
        self._vendor.asked.clear()
        lines = len(self._ledger())
        done = subprocess.run(
            [str(path), *arguments],
            cwd=work, env={**kept, **_PROXIES, "HOME": str(home), "NO_COLOR": "1", **environment},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        ended = time.monotonic()
        assert self._vendor.asked, f"it asked for nothing: {done.stdout}"
        return Ended(done.returncode, done.stdout, ended - self._vendor.asked[0], self._settled()[lines:])

    def _settled(self) -> list[dict[str, Any]]:
        """The ledger, once no more comes: Envoy writes it five times a second."""
        seen, lines = -1, self._ledger()
        while len(lines) != seen:
            time.sleep(1.0)
            seen, lines = len(lines), self._ledger()
        return lines

    def _ledger(self) -> list[dict[str, Any]]:
        text = self._stack.access_log.read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        return [line for line in lines if line.get("trilane.account")]


@pytest.fixture(scope="module")
def refused() -> Iterator[Refused]:
    document = json.loads(SAMPLE_DOCUMENT.read_bytes())
    with RefusingVendor() as vendor:
        with Stack(run_dir("clients-refused-account"), document=document, upstream=vendor.address) as stack:
            yield Refused(stack, vendor)


def check(ended: Ended) -> None:
    """What holds for all agents: they end, a person reads why, and the ledger has the accounts."""
    assert ended.code != 0, ended
    assert TOLD in ended.said and WHAT_TO_DO in ended.said, ended
    for record in ended.records:
        assert record["http.response.status_code"] == 502 and record["trilane.upstream_status"] == 401, record
        failed = record["trilane.tries.failed"]
        assert len(failed) == record["trilane.tries"] >= 1, record
        assert {(each["kind"], each["status"]) for each in failed} == {("unauthorized", 401)}, record


def test_claude_code_ends_at_once(refused: Refused, tmp_path: Path) -> None:
    """Without `x-should-retry: false` it asks nine times and more, for a hundred seconds, and says nothing meanwhile."""
    environment = {
        "ANTHROPIC_BASE_URL": refused.url,
        "ANTHROPIC_API_KEY": "trilane-demo-b",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    ended = refused.run(tmp_path, "claude", ["--model", "claude-opus-4-5", "--print", PROMPT], environment)
    check(ended)
    assert len(ended.records) == 1, ended
    assert ended.seconds < AT_ONCE, ended


def test_codex_ends_with_the_message(refused: Refused, tmp_path: Path) -> None:
    """It asks again at every 502, whatever that says, as often as its settings have it; so a page tells to lower them."""
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(
        f"""
model = "gpt-5.1"
model_provider = "trilane"
check_for_update_on_startup = false

[model_providers.trilane]
name = "trilane"
base_url = "{refused.url}/v1"
wire_api = "responses"
env_key = "TRILANE_API_KEY"
request_max_retries = 1
stream_max_retries = 1

[features]
plugins = false

[analytics]
enabled = false
"""
    )
    arguments = ["exec", "--skip-git-repo-check", "--sandbox", "read-only", PROMPT]
    ended = refused.run(tmp_path, "codex", arguments, {"TRILANE_API_KEY": "trilane-demo-a"})
    check(ended)
    assert len(ended.records) == 4, ended


def test_gemini_cli_ends_with_the_message(refused: Refused, tmp_path: Path) -> None:
    """It, too, asks again at every 502, up to ten times, and shows each time why; a setting makes it one."""
    (tmp_path / ".gemini").mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"maxAttempts": 1, "enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(settings))
    environment = {"GEMINI_API_KEY": "trilane-demo-c", "GOOGLE_GEMINI_BASE_URL": refused.url}
    arguments = ["--skip-trust", "--model", "gemini-2.5-flash", "--prompt", PROMPT]
    ended = refused.run(tmp_path, "gemini", arguments, environment)
    check(ended)
    assert len(ended.records) == 1, ended
