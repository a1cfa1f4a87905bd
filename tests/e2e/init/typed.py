"""A person at a terminal: a program with a pseudo-terminal, what it shows, and what is typed."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType

from e2e.init.initialising import environment

DOWN, ENTER, SPACE, INTERRUPT = "\x1b[B", "\r", " ", "\x03"
#: How long the program may take for a question, in seconds.
PATIENCE = 20.0
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """Use it as a context manager."""

    def __init__(self, *command: str, cwd: Path, **variables: str) -> None:
        self._command = command
        self._cwd = cwd
        self._environment = environment(TERM="xterm", NO_COLOR="1", **variables)
        #: All that was shown, without the sequences that move and colour.
        self.shown = ""
        self._read = 0

    def __enter__(self) -> Terminal:
        self._master, slave = pty.openpty()
        self._process = subprocess.Popen(
            self._command,
            cwd=self._cwd,
            env=self._environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(slave)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def until(self, text: str) -> None:
        """Waits until it shows this, behind what was waited for before."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown[self._read :]:
            assert time.monotonic() < deadline and self._more(), f"{text!r} is not in:\n{self.shown[self._read:]}"
        self._read = self.shown.index(text, self._read) + len(text)

    def types(self, *keys: str) -> None:
        """Types these, each by itself."""
        for key in keys:
            os.write(self._master, key.encode())
            time.sleep(0.05)

    def end(self) -> int:
        """Waits until it ends; returns its exit code."""
        while self._more():
            pass
        return self._process.wait(PATIENCE)

    def _more(self) -> bool:
        if not select.select([self._master], [], [], PATIENCE)[0]:
            return False
        try:
            more = os.read(self._master, 65536)
        except OSError:
            return False
        self.shown += _CONTROL.sub("", more.decode(errors="replace"))
        return bool(more)


def _take_terminal() -> None:
    """Makes the pseudo-terminal the program's own, so that Ctrl-C is a signal."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
