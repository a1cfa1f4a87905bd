"""The terminal of `trilane up` says at once which account has a certificate that is not valid here, and what to do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import httpx
from e2e.guides.vendor import Vendor
from e2e.up.running import Up
from stack import COMMAND

GROUPS = {"one": ["main"], "two": ["first", "second"]}
BODY = {"model": "m", "max_tokens": 16, "messages": [{"role": "user", "content": "Hello"}]}


def test_the_terminal_names_the_account(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Vendor(tmp_path / "vendor") as vendor:
        keys = prepare(data, vendor.url.replace("localhost", "127.0.0.1"))
        with Up(data) as up:
            for group, key in keys.items():
                headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
                answer = httpx.post(f"{up.url}/v1/messages", headers=headers, json=BODY, timeout=30, trust_env=False)
                assert answer.status_code == 502, f"{group}: {answer.text}"
            for group, names in GROUPS.items():
                for name in names:
                    up.until(f"account refused: source {group}: account {name} was refused by this gateway (TLS).")
            assert "into its place" not in up.said, "the credential is not at fault"


def prepare(data: Path, url: str) -> dict[str, str]:
    """A data directory whose accounts are all at this address, without its authority; the key of each group."""
    (data / "credentials").mkdir(parents=True)
    for name in (name for names in GROUPS.values() for name in names):
        (data / "credentials" / name).write_text("sk-of-nobody\n")
    document = {
        "currency": "USD",
        "groups": [
            {
                "id": group, "protocol": "B", "clients": "current", "multiplier": "1", "models": [{"id": "m", "free": True}],
                "accounts": [{"id": name, "url": url, "credential": name} for name in names],
            }
            for group, names in GROUPS.items()
        ],
        "keys": [],
    }  # fmt: skip
    (data / "gateway.json").write_text(json.dumps(document))
    create = [str(COMMAND), "key", "create", str(data / "gateway.json")]
    return {
        group: subprocess.run(
            [*create, "--id", group, "--group", group], capture_output=True, text=True, check=True
        ).stdout.strip()
        for group in GROUPS
    }  # fmt: skip
