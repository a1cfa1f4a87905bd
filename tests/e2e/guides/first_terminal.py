"""The terminal in which a page's gateway runs until Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

import fetch
from e2e.guides.reader import ROOT, Reader
from stack import COMMAND, WASM, Child

#: Seconds; a machine that is short of time takes many.
PATIENCE = 45


class FirstTerminal:
    """Runs the very command of a page: `trilane up`, or what the Makefile makes of `make run`, without building first."""

    #: What a block begins with that is to be run here.
    COMMANDS = ("make run", "trilane up", "uvx trilane up")

    def __init__(self, reader: Reader, port: int, log: Path, envoy: bool = False) -> None:
        """`envoy`: there is one beside the command, as pip puts it there; else it is that of the page's directory."""
        self._reader, self._port, self._log, self._envoy = reader, port, log, envoy
        self._child: Optional[Child] = None

    def run(self, text: str) -> None:
        self.interrupt()
        command = self._of_make(text) if text.startswith("make") else text.strip().removeprefix("uvx ")
        # Other ports than those of the page, and the filter of the tests: their command does not carry one.
        ports = {"TRILANE_PORT": str(self._port), "TRILANE_TLS_PORT": "0", "TRILANE_ADMIN_PORT": "0", "TRILANE_CONSOLE_PORT": "0"}
        envoy = {"ENVOY": str(fetch.envoy_binary())} if self._envoy or text.startswith("make") else {}
        settings = {**ports, "TRILANE_WASM": str(WASM), **envoy}
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
        script = f"cd {ROOT} && export HOME={shlex.quote(str(self._reader.home))} {variables} PATH={COMMAND.parent}:$PATH && exec {command}"
        self._child = Child(["bash", "-c", script], self._log)
        deadline = time.monotonic() + 90
        while not re.search(r"^Ctrl-C ends (everything|it)\.", self.said, re.MULTILINE):
            assert self._child.process.poll() is None and time.monotonic() < deadline, self.said
            time.sleep(0.1)

    def _of_make(self, text: str) -> str:
        """The command that the Makefile runs for `make run`."""
        told = subprocess.run(
            ["bash", "-c", f'command make --dry-run "$@"{text.strip().removeprefix("make run")} run', "make",
             f"PYTHON={sys.executable}", f"PORT={self._port}", "TLS_PORT=0", "ADMIN_PORT=0", "CONSOLE_PORT=0"],
            cwd=ROOT, env={**os.environ, "HOME": str(self._reader.home)}, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        (command,) = re.findall(r"^\S+/trilane (up --demo .*)$", told.replace("\\\n", " "), re.MULTILINE)
        return f"trilane {command}"

    def interrupt(self) -> None:
        """Ctrl-C."""
        if self._child:
            self._child.process.send_signal(signal.SIGINT)
            assert self._child.process.wait(30) == 0, self.said
        self._child = None

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def stop(self) -> None:
        if self._child:
            self._child.stop()


def of_keys(ledger: Path, count: int = 1) -> list[dict[str, object]]:
    """At least so many lines of requests with a key, not of the look whether all is ready. Envoy writes them moments later."""
    deadline = time.monotonic() + PATIENCE
    while True:
        whole = [line for line in ledger.read_text().splitlines(keepends=True) if line.endswith("\n")]
        found = [line for line in map(json.loads, whole) if "trilane.key.id" in line]
        if len(found) >= count:
            return found
        assert time.monotonic() < deadline, f"{len(found)} lines of a key among {len(whole)}"
        time.sleep(0.05)
