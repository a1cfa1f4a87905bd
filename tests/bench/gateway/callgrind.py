"""Counts the instructions of Envoy's worker thread with valgrind's callgrind, which is told when to count while Envoy runs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stack import StackError
from valgrind import Valgrind

#: V8 writes code and runs it, so valgrind must look for changed code everywhere. It counts only when told to.
OPTIONS = ["--tool=callgrind", "--smc-check=all-non-file", "--separate-threads=yes", "--instr-atstart=no"]
#: Stacks as large as V8 may take, which valgrind would hold for another stack otherwise.
STACKS = ["--max-stackframe=8388608", "--main-stacksize=8388608"]
#: The C library copies and fills 32 bytes at a time with these. By default it has one instruction copy any number of bytes, which
#: callgrind counts once for each byte.
TUNABLES = "glibc.cpu.x86_rep_movsb_threshold=1073741824:glibc.cpu.x86_rep_stosb_threshold=1073741824"
#: Seconds that it may take to obey, on a busy machine.
PATIENCE = 120


class Callgrind:
    """A command that runs another one under callgrind, and the counts."""

    def __init__(self, valgrind: Valgrind, directory: Path) -> None:
        """`directory` takes the counts, and must be this one's own."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._environment = valgrind.environment
        self._control = valgrind.binary.with_name("vgdb")
        environment = {**valgrind.environment, "GLIBC_TUNABLES": TUNABLES}
        with_environment = ["env", *(f"{name}={value}" for name, value in environment.items())]
        #: What stands before the command.
        self.command = [*with_environment, str(valgrind.binary), *OPTIONS, *STACKS, f"--callgrind-out-file={directory / 'counts'}"]

    @contextmanager
    def counting(self, pid: int) -> Iterator[None]:
        """Meanwhile it counts, which takes some ten times as long as when it does not."""
        self._tell(pid, "instrumentation on")
        try:
            yield
        finally:
            self._tell(pid, "instrumentation off")

    def begin(self, pid: int) -> None:
        """Counts from zero."""
        self._tell(pid, "zero")

    def busiest(self, pid: int) -> int:
        """The instructions since `begin` of the thread that took most of them."""
        for old in self._directory.glob("counts.*"):
            old.unlink()
        self._tell(pid, "dump")
        totals = [
            re.search(r"^(?:totals|summary): (\d+)", file.read_text(errors="replace"), re.M)
            for file in self._directory.glob("counts.*")
        ]
        counts = [int(found[1]) for found in totals if found]
        if not counts:
            raise StackError(f"callgrind has written no counts into {self._directory}.")
        return max(counts)

    def _tell(self, pid: int, what: str) -> None:
        command = [str(self._control), f"--pid={pid}", *what.split()]
        environment = {**os.environ, **self._environment}
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)
        if done.returncode != 0:
            raise StackError(f"{' '.join(command)} failed: {done.stderr.strip()}")
