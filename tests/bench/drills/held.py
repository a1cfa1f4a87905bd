"""What a gateway holds for streams and uploads that take their time, many of them at once."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import driving
from bodies import chat
from cases import CHAT
from contestants import FEW, Accounts
from gateways import BareTwo, Gateway, TwoWorkers
from machine import Cores, pinned
from memory import Sample, sample
from stack import StackError

#: How many begin in a second.
BEGUN = 1000
#: A slow reader's answer has so many events, 1.1 MB: more than is held anywhere on the way.
LONG = 4000
#: How long it may take until what was set free is free, in seconds.
SETTLE = 2.0
#: Bytes that a slow client sends, or reads, in a second.
PIECE = 1024


class AccountsTwo(TwoWorkers, Accounts):
    """Trilane with two accounts: the way there goes through an internal listener."""


class Slow(NamedTuple):
    """What the clients do."""

    name: str
    title: str
    #: Whether each takes up as much as the gateway allows: then a quarter of the clients will do, and no more would fit
    #: into the heap that `envoy.yaml` grants.
    large: bool = False
    model_first: bool = True
    #: Whether the request, or else the answer, is what takes its time.
    upload: bool = False

    def arguments(self, seconds: int, body: Path) -> list[str]:
        """What to tell the load generator, for so many seconds of slowness."""
        if self.upload:
            body.write_bytes(chat(PIECE * seconds, model_first=self.model_first))
            return ["--send-piece", str(PIECE), "--slow", str(4 * seconds)]
        body.write_bytes(chat(1024, model_first=True, stream=True))
        events, gap = (LONG, 0) if self.large else (seconds, 1_000_000)
        asked = ["--events", str(events), "--header", f"x-bench-events: {events}", "--header", f"x-bench-gap-us: {gap}"]
        return asked + (["--read-piece", str(PIECE), "--slow", str(seconds)] if self.large else [])


CASES = (
    Slow("streams", "streams, an event a second"),
    Slow("uploads", "uploads of 1 KB/s, model first", upload=True),
    Slow("uploads-held", "uploads of 1 KB/s, model last", upload=True, model_first=False),
    Slow("readers", "answers of 1.1 MB read at 1 KB/s", large=True),
)


class Holding:
    """Runs them."""

    def __init__(self, run_dir: Path, source: str, source_pid: int, cores: Cores, answers: dict[str, bytes]) -> None:
        self.run_dir = run_dir
        self.source = source
        self.source_pid = source_pid
        self.cores = cores
        self.answers = answers

    def case(self, case: Slow, number: int, seconds: int) -> dict[str, Any]:
        """The case with everybody, each on an Envoy that has only just begun."""
        number = max(1, number // 4) if case.large else number
        rows = {}
        for contestant in self._lineup(case.name):
            contestant.start()
            try:
                rows[contestant.name.rpartition("-")[2]] = {"title": contestant.title, **self._one(contestant, case, number, seconds)}
            finally:
                contestant.stop()
        for row in rows.values():
            row["added_bytes_each"] = row["bytes_each"] - rows["bare"]["bytes_each"]
        return {"title": case.title, "number": number, "seconds": seconds, "contestants": rows}

    def _lineup(self, case: str) -> Iterator[TwoWorkers]:
        where = (self.run_dir, self.source, self.cores, FEW)
        yield BareTwo(f"{case}-bare", "bare Envoy", *where, answers=self.answers)
        yield Gateway(f"{case}-trilane", "trilane", *where)
        yield AccountsTwo(f"{case}-accounts", "trilane, two accounts", *where, accounts=2)

    def _one(self, to: TwoWorkers, case: Slow, number: int, seconds: int) -> dict[str, Any]:
        driver = driving.Driver(self.run_dir, self.cores, self.source_pid)
        for call in (driving.Call(CHAT, chat(1024, model_first=True)), driving.Call(CHAT, chat(1024, model_first=True, stream=True), events=20)):
            driver(to, call, connections=16, seconds=min(0.5, seconds / 10), warmup=0)
        time.sleep(min(SETTLE, seconds / 10))
        before = sample(to)
        load = self._begin(to, case, number, seconds)
        taken: list[Sample] = []
        while load.poll() is None:
            taken.append(sample(to))
            time.sleep(min(0.5, seconds / 10))
        told, wrong = load.communicate()
        if load.returncode != 0:
            raise StackError(f"{driving.LOAD} failed: {wrong.strip()}")
        report = json.loads(told)
        time.sleep(min(SETTLE, seconds / 10))
        to.check()
        to.forget_log()
        after, most = sample(to), max(taken, key=lambda one: one.used)
        return {
            "before": before._asdict(),
            "most": most._asdict(),
            "after": after._asdict(),
            "bytes_each": (most.used - before.used) / number,
            "filter_bytes_each": (most.filter - before.filter) / number,
            "requests": report["requests"],
            "lost": report["failures"] | ({"no answer in time": report["unfinished"]} if report["unfinished"] else {}),
            # A slow reader measures itself.
            "event_delay_us": None if case.large else report.get("event_delay_us"),
        }

    def _begin(self, to: TwoWorkers, case: Slow, number: int, seconds: int) -> subprocess.Popen[str]:
        body = self.run_dir / "slow.json"
        arguments = case.arguments(seconds, body)
        command = [str(driving.LOAD), "load", "--to", to.address, "--path", CHAT, "--body", str(body)]
        command += ["--rate", str(BEGUN), "--seconds", str(number / BEGUN), "--connections", str(number)]
        command += ["--patience", str(5 * seconds + 20), "--keys", str(to.keys)]
        command += ["--header", f"authorization: Bearer {driving.Call('').key}", "--header", "user-agent: drill/1.0", *arguments]
        with pinned(self.cores.load):
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
