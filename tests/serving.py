"""Runs `trilane serve`, for the tests and the benchmark: the document and a feed of keys."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import TracebackType

from child import Child, StackError, tail
from stack import COMMAND


class Serving:
    """One server on loopback, which keeps its port when it is started again."""

    def __init__(self, run_dir: Path, document: Path, *arguments: str, command: Path = COMMAND) -> None:
        """`arguments` name the keys, `--sqlite FILE` or `--keys FILE`, and may have further options."""
        self.log = run_dir.resolve() / "serve.log"
        self.address = "127.0.0.1:0"
        self._command = [str(command), "serve", "--document", str(document), *arguments]
        self._child: Child | None = None

    def start(self, timeout: float = 60.0) -> Serving:
        """Starts it and waits until it listens."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._child = child = Child([*self._command, "--listen", self.address], self.log)
        deadline = time.monotonic() + timeout
        while not (said := re.search(r"listening\D*(\d+\.\d+\.\d+\.\d+:\d+)", self.log.read_text(errors="replace"))):
            if child.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise StackError(f"`trilane serve` does not start.\n{tail(self.log)}")
            time.sleep(0.01)
        self.address = said[1]
        return self

    @property
    def pid(self) -> int:
        assert self._child, "it runs"
        return self._child.process.pid

    def kill(self) -> None:
        """Kills it."""
        if self._child:
            self._child.process.kill()
            self.stop()

    def stop(self) -> None:
        """Asks it to end."""
        if self._child:
            self._child.stop()
        self._child = None

    def __enter__(self) -> Serving:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
