"""Runs the mock and the load generator (`trilane-load`)."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional, Protocol

from contestants import DIGITS
from machine import Cores, pinned
from stack import TARGET, Child, StackError

LOAD = TARGET / "release" / "trilane-load"


class Call(NamedTuple):
    """The request that a case sends."""

    path: str
    body: Optional[bytes] = None
    key: str = f"bench-{'#' * DIGITS}"
    expect: int = 200
    #: A stream of so many events, so many microseconds apart.
    events: Optional[int] = None
    gap_us: int = 0
    #: Further statuses that are as good as the one expected.
    also: tuple[int, ...] = ()
    #: Further headers, each as `name: value`.
    headers: tuple[str, ...] = ()

    def sent_headers(self) -> list[str]:
        """All that a client sends but for those about the body, likewise. The key has `#` for the digits of its number."""
        sent = [f"authorization: Bearer {self.key}", "user-agent: bench/1.0", "accept: */*", *self.headers]
        if self.events is not None:
            sent += [f"x-bench-events: {self.events}", f"x-bench-gap-us: {self.gap_us}"]
        return sent


class Driven(Protocol):
    """Whom load is put on: a gateway, or something of one."""

    name: str
    title: str
    #: How many numbers a key may have.
    keys: int

    @property
    def address(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def check(self) -> None: ...

    def forget_log(self) -> None: ...


@contextmanager
def mock(run_dir: Path, cores: Cores) -> Iterator[tuple[str, int]]:
    """The model source: its address and its process id."""
    if not LOAD.exists():
        raise StackError(f"The load generator is not built: {LOAD} does not exist. Run `make bench`.")
    log = run_dir / "mock.log"
    with pinned(cores.load):
        child = Child([str(LOAD), "mock", "--listen", "127.0.0.1:0"], log)
    try:
        deadline = time.monotonic() + 10
        while not (said := log.read_text()).endswith("\n"):
            if child.process.poll() is not None or time.monotonic() > deadline:
                raise StackError(f"The mock does not start: {said}")
            time.sleep(0.01)
        yield said.split()[1], child.process.pid
    finally:
        child.stop()


class Driver:
    """Makes load and returns what `trilane-load` reports (tests/bench/load/src/report.rs)."""

    def __init__(self, run_dir: Path, cores: Cores, mock_pid: int) -> None:
        self.run_dir = run_dir
        self.cores = cores
        self.mock_pid = mock_pid

    def __call__(
        self, to: Driven, call: Call, *, connections: int, seconds: float, warmup: float, rate: Optional[float] = None
    ) -> dict[str, Any]:
        """Closed loop, or open at `rate` requests a second."""
        to.check()
        command = [str(LOAD), "load", "--to", to.address, "--path", call.path, "--connections", str(connections)]
        command += ["--seconds", f"{seconds:.3f}", "--warmup", f"{warmup:.3f}", "--keys", str(to.keys)]
        command += ["--expect", str(call.expect)]
        for header in call.sent_headers():
            command += ["--header", header]
        for status in call.also:
            command += ["--also", str(status)]
        command += ["--cpu", f"gateway={to.pid}", "--cpu", f"mock={self.mock_pid}"]
        if call.body is not None:
            body = self.run_dir / "body.json"
            body.write_bytes(call.body)
            command += ["--body", str(body)]
        if call.events is not None:
            command += ["--events", str(call.events)]
        if rate is not None:
            command += ["--rate", f"{rate:.3f}"]
        with pinned(self.cores.load):
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + warmup + 60, check=False)
        to.forget_log()
        if done.returncode != 0:
            raise StackError(f"{' '.join(command)} failed: {done.stderr.strip()}")
        report: dict[str, Any] = json.loads(done.stdout)
        return report
