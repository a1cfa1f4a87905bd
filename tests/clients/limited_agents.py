"""Agents from npm against a gateway with limits: each with a home of its own, and nothing to say to anybody else."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from e2e.limits.limited_desk import Desk
from e2e.limits.limited_document import MODELS, Key
from stack import TARGET

#: Where npm has put the agents. Another place is told by this variable.
MODULES = Path(os.environ.get("TRILANE_CLIENTS_NODE_MODULES") or TARGET / "clients" / "node_modules")
#: Variables that would make an agent look elsewhere than it is told.
_FOREIGN = re.compile(r"(OPENAI|CODEX|GOOGLE|GEMINI|OTEL|NODE)_|(https?|all|no)_proxy$", re.IGNORECASE)
#: Nobody listens there: what is not for this machine goes nowhere.
_NOWHERE = "http://127.0.0.1:9"
_PROXIES = {
    "HTTP_PROXY": _NOWHERE, "HTTPS_PROXY": _NOWHERE, "http_proxy": _NOWHERE, "https_proxy": _NOWHERE,
    "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
}  # fmt: skip
#: For how long an agent may run: it starts slowly on a busy machine, and tries again by itself.
PATIENCE = 180.0

PROMPT = "Say hello."


@dataclasses.dataclass(frozen=True)
class Ran:
    """What came of an agent's run."""

    code: int
    output: str
    errors: str
    seconds: float

    @property
    def said(self) -> str:
        return self.output + self.errors


@dataclasses.dataclass(frozen=True)
class Agent:
    """An agent, one prompt at a time."""

    name: str
    protocol: str
    program: str

    def __str__(self) -> str:
        return self.name

    def run(self, desk: Desk, key: Key, home: Path) -> Ran:
        """Asks the prompt, with a fresh home."""
        if not shutil.which("node"):
            pytest.skip("node is not there")
        program = MODULES / ".bin" / self.program
        if not program.exists():
            pytest.fail(f"{program} is not there: run `make clients-test`")
        work = home / "work"
        work.mkdir(parents=True)
        kept = {name: value for name, value in os.environ.items() if not _FOREIGN.search(name)}
        told = codex(desk, key, home) if self.program == "codex" else gemini(desk, key, home)
        began = time.monotonic()
        done = subprocess.run(
            [str(program), *told.arguments],
            cwd=work, env={**kept, **_PROXIES, "HOME": str(home), "NO_COLOR": "1", **told.environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


@dataclasses.dataclass(frozen=True)
class _Told:
    arguments: list[str]
    environment: dict[str, str]


def codex(desk: Desk, key: Key, home: Path) -> _Told:
    """A provider of its own, as the documentation has it."""
    folder = home / ".codex"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(
        f"""
model = "{MODELS["A"]}"
model_provider = "trilane"
check_for_update_on_startup = false

[model_providers.trilane]
name = "trilane"
base_url = "{desk.stack.base_url}/v1"
wire_api = "responses"
env_key = "TRILANE_API_KEY"

[features]
plugins = false

[analytics]
enabled = false
"""
    )
    arguments = ["exec", "--skip-git-repo-check", "--sandbox", "read-only", PROMPT]
    return _Told(arguments, {"TRILANE_API_KEY": key.value})


def gemini(desk: Desk, key: Key, home: Path) -> _Told:
    """By the variables, and the one setting, that the documentation names."""
    folder = home / ".gemini"
    folder.mkdir(parents=True)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    environment = {
        "GEMINI_API_KEY": key.value,
        "GOOGLE_GEMINI_BASE_URL": desk.stack.base_url,
    }
    return _Told(["--skip-trust", "--model", MODELS["C"], "--prompt", PROMPT], environment)


CODEX = Agent("Codex", "A", "codex")
GEMINI = Agent("Gemini CLI", "C", "gemini")
