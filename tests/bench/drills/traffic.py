"""The load of a drill: short requests that fall due at a fixed rate, and beside them streams that take their time."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional

import driving
from bodies import chat
from cases import CHAT
from machine import Cores, pinned
from stack import StackError

#: Requests that fall due in a second: what one core does with ease, so that waiting tells of what is done to the gateway.
RATE = 1000
#: Streams begun in a second, events of each (fewer in a short run), and microseconds between two: some forty at any time.
STREAMS, EVENTS, GAP_US = 20, 100, 20_000
#: Connections of the requests, and of the streams.
CONNECTIONS, STREAM_CONNECTIONS = 64, 100
WARM_UP = 0.5
#: The width of the steps of the timeline, in milliseconds.
STEP = 100


class Seen(NamedTuple):
    """What the clients saw of one run; the reports of `trilane-load` (tests/bench/load/src/report.rs)."""

    requests: dict[str, Any]
    streams: dict[str, Any]


class Traffic:
    """Makes the load."""

    def __init__(self, run_dir: Path, cores: Cores, seconds: float) -> None:
        self.run_dir = run_dir
        self.cores = cores
        self.seconds = seconds

    def __call__(self, to: str, keys: int, disturbance: Optional[Callable[[float], None]] = None) -> Seen:
        """The load on this address (or `@FILE`), and what is done meanwhile, which is told how long it lasts."""
        requests = self._begin("requests", to, keys, chat(1024, model_first=True), RATE, CONNECTIONS, [])
        events = min(EVENTS, int(self.seconds * 1e6 / GAP_US / 2))
        asked = ["--events", str(events), "--header", f"x-bench-events: {events}", "--header", f"x-bench-gap-us: {GAP_US}"]
        streams = self._begin("streams", to, keys, chat(1024, model_first=True, stream=True), STREAMS, STREAM_CONNECTIONS, asked)
        loads = (requests, streams)
        try:
            time.sleep(WARM_UP)
            if disturbance:
                # In this thread: a process that is started meanwhile dies with the thread that starts it.
                disturbance(self.seconds)
            return Seen(*(self._end(load) for load in loads))
        finally:
            for load in loads:
                if load.poll() is None:
                    load.kill()

    def _begin(
        self, name: str, to: str, keys: int, content: bytes, rate: int, connections: int, more: list[str]
    ) -> subprocess.Popen[str]:
        body = self.run_dir / f"{name}.json"
        body.write_bytes(content)
        command = [str(driving.LOAD), "load", "--to", to, "--path", CHAT, "--body", str(body), "--keys", str(keys)]
        command += ["--rate", str(rate), "--connections", str(connections), "--seconds", str(self.seconds)]
        command += ["--warmup", str(WARM_UP), "--timeline", str(STEP)]
        command += ["--header", f"authorization: Bearer {driving.Call('').key}", "--header", "user-agent: drill/1.0", *more]
        with pinned(self.cores.load):
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def _end(self, load: subprocess.Popen[str]) -> dict[str, Any]:
        told, wrong = load.communicate(timeout=self.seconds + 60)
        if load.returncode != 0:
            raise StackError(f"{driving.LOAD} failed: {wrong.strip()}")
        report: dict[str, Any] = json.loads(told)
        return report
