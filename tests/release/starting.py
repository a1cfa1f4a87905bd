"""A program of a release that runs from an empty home directory, as a person starts it in a terminal."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Callable, Optional

#: Seconds; a machine that is short of time takes many.
PATIENCE = 60


class Started:
    """`trilane up` with ports of its own. It is ended by Ctrl-C."""

    def __init__(self, command: list[str], directory: Path) -> None:
        self.home = directory / "empty"
        self.home.mkdir()
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TRILANE_METRICS_PORT": "0",
            "TRILANE_METRICS_LISTEN": "127.0.0.1:0",
        }
        self._command = [*command, "--port=0", "--tls-port=0", "--admin-port=0"]
        self._terminal = directory / "terminal"

    def __enter__(self) -> Started:
        with self._terminal.open("wb") as words:
            self._running = subprocess.Popen(
                self._command, cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL, stdout=words, stderr=words
            )
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._running.send_signal(signal.SIGINT)
        try:
            self._running.wait(PATIENCE)
        finally:
            self._running.kill()
            self._running.wait()

    @property
    def said(self) -> str:
        return self._terminal.read_text()

    @property
    def gateway(self) -> str:
        """The address of the gateway."""
        found = re.search(r"^  gateway +(\S+)", self.said, re.MULTILINE)
        assert found, self.said
        return found[1]

    def until(self, words: str) -> None:
        self.wait_for(lambda: words in self.said)

    def wait_for(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert self._running.poll() is None and time.monotonic() < deadline, self.said
            time.sleep(0.05)

    def end(self) -> int:
        """Ends it by Ctrl-C, and returns its exit code."""
        self._running.send_signal(signal.SIGINT)
        return self._running.wait(PATIENCE)
