"""The processes of a gateway. They end with the process that started them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


class StackError(Exception):
    """The stack cannot run; the text says why and what to do."""


class Child:
    """A process that ends with this one, even if this one is killed."""

    def __init__(self, command: list[str], log: Path, output: Path | None = None) -> None:
        """Standard error goes to `log`, standard output to `output` or by default to `log` too."""
        self.log = log
        with contextlib.ExitStack() as files:
            errors = files.enter_context(log.open("wb"))
            out = files.enter_context(output.open("wb")) if output else errors
            try:
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    start_new_session=True,  # Ctrl-C does not reach it; the parent ends its children in order
                    preexec_fn=_child_setup(),
                )
            except OSError as error:
                raise StackError(f"{command[0]} does not start: {error}") from error

    def stop(self, patience: float = 5.0) -> None:
        """Sends SIGTERM, and SIGKILL after `patience` seconds."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


def _child_setup() -> Callable[[], None]:
    """What a child does before it becomes its program.

    It asks to be ended with its parent (on Linux), raises its limit of open files to the maximum, and can be interrupted.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    parent = os.getpid()

    def setup() -> None:
        if libc is not None:
            pr_set_pdeathsig = 1
            libc.prctl(pr_set_pdeathsig, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        # As from a terminal: what a shell starts in the background has SIGINT ignored, and passes that on.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    return setup


def tail(log: Path, lines: int = 20) -> str:
    """The end of a log, for the text of an error."""
    try:
        text = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        text = []
    return f"The end of {log}:\n" + "\n".join(f"  {line}" for line in text or ["(empty)"])
