"""The settings that Claude Code asks a gateway for: from the agent's copy, and 404 whenever there is a doubt."""

from __future__ import annotations

import hashlib
import json
import signal
import time
from pathlib import Path
from typing import Any

import httpx
from e2e.console.machine import Machine
from e2e.console.running import Console
from e2e.up.ads import Site, group
from waiting import until

INERT = {"permissions": {"deny": ["WebFetch"]}, "model": "opus", "env": {"OTEL_LOGS_EXPORTER": "otlp", "CLAUDE_CODE_ENABLE_TELEMETRY": "1"}}


def checksum(settings: dict[str, Any]) -> str:
    """As the client computes it of its copy."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def test_from_the_agents_copy(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.save(group("g", "http://127.0.0.1:1", "one"))
    console = Console(tmp_path / "console", "--import-document", str(site.document)).start()
    try:
        machine = Machine(tmp_path, console, "--console", console.url)

        def settings(**headers: str) -> httpx.Response:
            return httpx.get(f"{machine.url}/managed/settings", headers=headers, trust_env=False, timeout=10)

        def put(settings: dict[str, Any]) -> None:
            assert console.api.call("PUT", "/client-settings", {"settings": settings}).status_code == 200

        with machine.envoy():
            with machine.agent() as agent:
                until(machine.is_open, 30)
                assert settings().status_code == 404, "there are none"
                put(INERT)
                until(lambda: settings().status_code == 200, 10)
                given = settings(authorization="Bearer tl-unknown")
                wanted = checksum(INERT)
                assert given.json() == {"uuid": wanted, "checksum": wanted, "settings": INERT}
                assert given.headers["etag"] == f'"{wanted}"'
                assert settings(**{"if-none-match": f'"{wanted}"'}).status_code == 304
                assert settings(**{"if-none-match": '"sha256:0"'}).status_code == 200
                assert httpx.post(f"{machine.url}/managed/settings?x=1", trust_env=False).status_code == 200
                console.kill()
                assert settings().json()["settings"] == INERT, "the console is away"
                agent.process.send_signal(signal.SIGSTOP)
                begun = time.monotonic()
                assert settings().status_code == 404, "the agent is slow"
                assert time.monotonic() - begun < 5
                agent.process.send_signal(signal.SIGCONT)
                until(lambda: settings().status_code == 200, 10)
            assert settings().status_code == 404, "the agent is away"
            # It starts without a console, from its copy.
            with machine.agent():
                until(lambda: settings().status_code == 200, 20)
                assert settings().json()["settings"] == INERT
            # A copy that is not whole is none.
            copy = tmp_path / "agent" / "client-settings.json"
            copy.write_text(copy.read_text().replace("opus", "another"))
            with machine.agent():
                until(machine.is_open, 20)
                assert settings().status_code == 404
                console.start()
                until(lambda: settings().status_code == 200, 20)
                put({"model": "sonnet"})
                until(lambda: settings().json()["settings"] == {"model": "sonnet"}, 10)
                assert console.api.call("DELETE", "/client-settings").status_code == 204
                until(lambda: settings().status_code == 404, 10)
                assert not copy.exists()
        assert "/managed/settings" not in (tmp_path / "ledger.jsonl").read_text()
    finally:
        console.stop()
