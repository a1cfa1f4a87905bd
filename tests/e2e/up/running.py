"""`trilane up` as a person starts it: its directory, what it says, its processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Optional

import fetch
from stack import COMMAND, WASM, Child

#: Seconds; a machine that is short of time takes many.
PATIENCE = 60
#: Each run takes its own free ports.
FREE_PORTS = ("--port", "0", "--tls-port", "0", "--admin-port", "0")
READY = "Ctrl-C ends everything."


def environment(**more: str) -> dict[str, str]:
    """That of the tests, with nothing that speaks to `trilane up` but the filter and Envoy."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TRILANE_") and name != "ENVOY"}
    free = {"TRILANE_METRICS_LISTEN": "127.0.0.1:0", "TRILANE_METRICS_PORT": "0"}
    return {**clean, **free, "TRILANE_VERBOSE": "1", "TRILANE_WASM": str(WASM), "ENVOY": str(fetch.envoy_binary()), **more}


class Up:
    """A run in a data directory. Use it as a context manager: it leaves nothing running."""

    def __init__(self, data: Path, *options: str, env: Optional[dict[str, str]] = None, ports: bool = True) -> None:
        self.data = data
        self.log = data.with_name(f"{data.name}.terminal")
        self._command = [str(COMMAND), "up", "--data", str(data), *(FREE_PORTS if ports else ()), *options]
        self._env = environment() if env is None else env
        self._child: Optional[Child] = None

    def __enter__(self) -> Up:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def begin(self) -> Up:
        """Starts it, and does not wait."""
        command = ["env", "-i", *(f"{name}={value}" for name, value in self._env.items()), *self._command]
        self._child = Child(command, self.log)
        return self

    def start(self) -> Up:
        self.begin()
        self.until(READY)
        return self

    def stop(self) -> None:
        if self._child:
            self._child.stop(patience=20)
        self._child = None

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def pid(self) -> int:
        assert self._child
        return self._child.process.pid

    def until(self, words: str, count: int = 1) -> None:
        """Waits until it has said this, so many times."""
        deadline = time.monotonic() + PATIENCE
        while self.said.count(words) < count:
            assert self._child and self._child.process.poll() is None, f"it has ended: {self.said}"
            assert time.monotonic() < deadline, f"{words!r}: {self.said}"
            time.sleep(0.02)

    def send(self, number: signal.Signals) -> None:
        assert self._child
        self._child.process.send_signal(number)

    def ended(self, within: float = 30) -> int:
        """Waits for its end, and returns its code."""
        assert self._child
        return self._child.process.wait(within)

    @property
    def url(self) -> str:
        return self._word("gateway    ")

    @property
    def tls_url(self) -> str:
        (found,) = re.findall(r"https://localhost:\d+", self.said)
        return str(found)

    @property
    def admin(self) -> str:
        return self._word("admin      ")

    @property
    def metrics(self) -> str:
        """Where console and agent have theirs."""
        self.until("/metrics\n")
        return re.findall(r"metrics at (http://\S+)/metrics", self.said)[-1]

    @property
    def curls(self) -> list[str]:
        """The requests that it prints."""
        return re.findall(r"^  (curl .*)$", self.said, re.MULTILINE)

    @property
    def ledger(self) -> Path:
        return self.data / "ledger" / "ledger.jsonl"

    @property
    def envoys(self) -> list[int]:
        """The processes on its configuration."""
        return processes(self.data)

    def _word(self, before: str) -> str:
        return self.said.split(before, 1)[1].split()[0]


def processes(data: Path) -> list[int]:
    """The processes that run on a data directory's configuration: Envoys."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().split(b"\0")
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue  # it has ended
        if os.fsencode(data / "run" / "envoy.yaml") in line and state != "Z":
            found.append(int(process.name))
    return found


def refused(data: Path, *options: str, env: Optional[dict[str, str]] = None) -> tuple[int, str]:
    """Exit code and words of a run that does not begin."""
    ran = subprocess.run(
        [COMMAND, "up", "--data", data, *options],
        env=environment() if env is None else env, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stdout + ran.stderr
