"""An agent and an Envoy that somebody else runs, beside a console."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fetch
import httpx
from e2e.console.running import Console
from e2e.up.running import environment
from ports import free_port
from stack import COMMAND, WASM, Child


class Machine:
    """An agent and an Envoy, each of which may be started, killed and ended by itself."""

    def __init__(self, place: Path, console: Console, *options: str) -> None:
        self._place = place
        self._feed, gateway, admin = (free_port() for _ in range(3))
        self.url, self.admin = f"http://127.0.0.1:{gateway}", f"http://127.0.0.1:{admin}"
        self._console = console
        self._published = place / "document" / "gateway.json"
        self.socket = place / "ads" / "a.sock"
        self.credentials = place / "credentials"
        self.credentials.mkdir()
        self._token = place / "token"
        self._token.write_text(console.api.post("/envoys", {"id": "edge-1"})["token"])
        config = place / "envoy.yaml"
        subprocess.run(
            [COMMAND, "envoy-config", "--mode", "sidecar", "--listen", f"127.0.0.1:{gateway}", "--admin", f"127.0.0.1:{admin}",
             "--filter", WASM, "--ads-socket", self.socket, "--ledger", place / "ledger.jsonl", "--agent", f"127.0.0.1:{self._feed}", "--out", config, *options],
            check=True,
        )  # fmt: skip
        self._config = config
        self.agent_log, self.envoy_log = place / "agent.log", place / "envoy.log"

    @contextmanager
    def agent(self) -> Iterator[Child]:
        command = [
            *(str(COMMAND), "agent", "--json", "--console", self._console.url, "--enrolment-token-file", str(self._token)),
            *("--data", str(self._place / "agent"), "--ledger", str(self._place / "ledger.jsonl")),
            *("--listen", f"127.0.0.1:{self._feed}", "--metrics-listen", "none", "--credentials", str(self.credentials)),
            *("--publish", str(self._published), "--ads-socket", str(self.socket)),
        ]
        child = Child(["env", "-i", *(f"{name}={value}" for name, value in environment().items()), *command], self.agent_log)
        try:
            yield child
        finally:
            child.stop()

    @contextmanager
    def envoy(self) -> Iterator[Child]:
        command = [
            *(str(fetch.envoy_binary()), "--config-path", str(self._config), "--disable-hot-restart"),
            *("--concurrency", "1", "--log-level", "info"),
        ]
        child = Child(command, self.envoy_log)
        try:
            yield child
        finally:
            child.stop()

    def is_open(self) -> bool:
        """Whether the gateway takes connections."""
        try:
            return httpx.get(f"{self.url}/healthz", trust_env=False, timeout=5).status_code == 200
        except httpx.HTTPError:
            return False
