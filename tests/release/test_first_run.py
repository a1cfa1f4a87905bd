"""From the wheels of `make release` to the answer of a real client, by way of a console. TRILANE_RELEASE names the archive beside them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Iterator, Optional

import httpx
import pytest
from starting import Started
from vendors import AnthropicVendor

ROOT = Path(__file__).resolve().parents[2]
CREDENTIAL = "sk-of-the-vendor-0000000000000000"
#: Claude Code, as `make clients-test` installs it.
CLAUDE = ROOT / "target/clients/node_modules/.bin/claude"

pytestmark = pytest.mark.skipif("TRILANE_RELEASE" not in os.environ, reason="no release was named: make release-check")


@pytest.fixture
def started(from_wheel: Path, tmp_path: Path) -> Iterator[Started]:
    with Started([str(from_wheel), "up", "--console", "--console-port=0", "--allow-private-accounts"], tmp_path) as started:
        yield started


class Console:
    """The API of the console, with the first admin's token."""

    def __init__(self, started: Started) -> None:
        url = re.search(r"^  console +(\S+)$", started.said, re.MULTILINE)
        token = started.home / ".local/share/trilane/admin.token"
        assert url
        self._http = httpx.Client(
            base_url=f"{url[1]}/api/v1", headers={"authorization": f"Bearer {token.read_text().strip()}"}, trust_env=False, timeout=60
        )

    def ask(self, method: str, path: str, body: Optional[dict[str, Any]] = None, **headers: str) -> Any:
        answer = self._http.request(method, path, json=body, headers=headers)
        assert answer.status_code in (200, 201), (path, answer.text)
        return answer.json()


def test_a_vendor_a_key_and_claude_code(started: Started) -> None:
    assert CLAUDE.exists(), "Claude Code is not there: make clients-test installs it"
    started.until("sign in    ")
    console = Console(started)
    with AnthropicVendor(CREDENTIAL) as vendor:
        named = {"vendor": "anthropic", "url": vendor.url, "value": CREDENTIAL}
        listed = console.ask("POST", "/vendors/models", named)
        assert listed["test"]["works"], listed
        models = [offered["model"] for offered in listed["models"]]
        console.ask("PUT", "/setup/vendors/anthropic", {**named, "models": models})
        draft = console.ask("GET", "/setup")["draft"]
        console.ask("POST", f"/drafts/{draft['id']}/publish", **{"if-match": f'"{draft["revision"]}"'})
        key = console.ask("POST", "/keys", {"id": "ann-1", "group": "anthropic"})["value"]
        started.until("Ctrl-C ends everything.")
        client = {
            **started.environment,
            "PATH": os.environ["PATH"],
            "ANTHROPIC_BASE_URL": started.gateway,
            "ANTHROPIC_AUTH_TOKEN": key,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        command = [str(CLAUDE), "--print", "--model", "claude-sonnet-5", "Hello"]
        said = subprocess.run(command, env=client, cwd=started.home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        assert (said.returncode, said.stdout.strip()) == (0, "pong"), (said.stdout, said.stderr, started.said)
        assert key not in str(vendor.asked), "the vendor sees its own credential alone"
    (ledger,) = started.home.rglob("ledger.jsonl")
    started.wait_for(lambda: '"trilane.key.id":"ann-1"' in ledger.read_text())
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    asked = [line for line in lines if line.get("gen_ai.operation.name") == "chat"]
    assert asked and all(line["trilane.key.id"] == "ann-1" and "trilane.charge" in line for line in asked), lines
