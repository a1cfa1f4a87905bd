"""Rounds of turns: every contestant under load in turn, there and back again. A round is a pair for each and the baseline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from cases import EVENTS, GAP_US, STREAMS, Case
from driving import Driven, Driver
from noise import Noise, Watch
from results import Results

#: Connections of the open loop: more than can be busy at once, unless the gateway does not keep up.
OPEN_CONNECTIONS = 64
#: At the least, of a turn of paced streams, in seconds: each stream alone takes a third of it.
PACED = 1.2
#: Before all other turns, of each case with each contestant. V8 compiles a function well once it has run some ten thousand
#: times; until then a filter's own part of a request costs three times as much.
WARM = 3.0
#: How much of trilane's throughput the open loop asks of everybody.
SHARE = 0.5
#: Requests for each connection of the open loop before it counts, and requests that it counts at the least: the first ones on a
#: new connection take many times as long, and p99 of few is the slowest of them.
FIRST, LEAST = 2, 500
#: How often a turn that was disturbed is run again, and how often in all: a noisy machine shall not double the time.
REPEATS, REPEATS_IN_ALL = 2, 100
#: How often the only pair of a short run is run again in which nobody could be compared.
AGAIN = 5


class Rounds:
    """Runs cases and collects what the load generator reports."""

    def __init__(self, drive: Driver, results: Results, options: argparse.Namespace) -> None:
        self.drive = drive
        self.results = results
        self.pairs: int = options.pairs
        self.seconds: float = options.seconds
        self.warmup: float = options.warmup
        self.short: bool = options.short
        self.repeats = 0 if options.short else REPEATS

    def warm(self, cases: Sequence[Case], contestants: Sequence[Driven]) -> None:
        """Lets Envoy's compiler see the filters' code at work, which it then compiles better, in the background."""
        if self.short:
            return
        for case in cases:
            for contestant in contestants:
                self.drive(contestant, case.call_to(contestant), connections=case.connections, seconds=WARM, warmup=0)

    def case(self, case: Case, contestants: Sequence[Driven], paced_by: str) -> None:
        """All pairs of one case. The first contestant is the baseline; half of what `paced_by` can do is asked of all."""
        results = self.results
        results.begin(case.name, case.title, [(contestant.name, contestant.title) for contestant in contestants])
        for pair in range(self.pairs):
            self._pair(case, contestants, paced_by, pair)
            # A short run has no other pair than this one, in which the machine may have stood still.
            for _ in range(AGAIN if self.short else 0):
                if not results.is_worthless(case.name, (contestants[0].name, paced_by)):
                    break
                results.forget(case.name)
                self._pair(case, contestants, paced_by, pair)
        said = results.figure(case.name, paced_by, "cpu_us")
        ratio = f"{said['ratio']['median']:.2f} × {contestants[0].title}" if said and "ratio" in said else "no figure"
        print(f"{case.title}: {paced_by} {ratio}", file=sys.stderr, flush=True)

    def _pair(self, case: Case, contestants: Sequence[Driven], paced_by: str, pair: int) -> None:
        """A turn of everybody, or two where latencies are taken."""
        results = self.results
        # There and back again: nobody is always the first, with the caches that the last one left.
        turns = contestants if pair % 2 == 0 else contestants[::-1]
        if case.paced:
            for contestant in turns:
                self._open(case, contestant, pair, STREAMS)
            return
        can: dict[str, float] = {}
        for contestant in turns:
            can[contestant.name] = self._closed(case, contestant, pair)
        # Half of what it can do just now: on a machine that becomes slower, the half of before is too much.
        rate = SHARE * can[paced_by]
        if case.latency and rate:
            results.pace(case.name, rate)
            for contestant in turns:
                if can[contestant.name] < rate:
                    results.overload(case.name, contestant.name, pair, can[contestant.name], rate)
                else:
                    self._open(case, contestant, pair, rate)

    def _closed(self, case: Case, contestant: Driven, pair: int) -> float:
        """Requests a second."""
        report = self._turn(case, contestant, pair, connections=case.connections, seconds=self.seconds, warmup=self.warmup)
        return float(report["per_second"])

    def _open(self, case: Case, contestant: Driven, pair: int, rate: float) -> None:
        seconds, warmup = self.seconds, self.warmup
        if case.paced:
            # At least two whole streams, however short the run.
            least = 2 / rate + EVENTS * GAP_US / 1e6
            seconds, warmup = max(seconds, least if self.short else PACED), 0.0
        elif not self.short:
            seconds, warmup = max(seconds, LEAST / rate), max(warmup, FIRST * OPEN_CONNECTIONS / rate)
        self._turn(case, contestant, pair, connections=OPEN_CONNECTIONS, seconds=seconds, warmup=warmup, rate=rate)

    def _turn(self, case: Case, contestant: Driven, pair: int, **load: Any) -> dict[str, Any]:
        """One turn; again where it was disturbed. The quietest counts."""
        turns: list[tuple[Noise, dict[str, Any]]] = []
        while True:
            watch = Watch(self.drive.cores, contestant.pid)
            report = self.drive(contestant, case.call_to(contestant), **load)
            turns.append((watch.noise(), report))
            if turns[-1][0].quiet or len(turns) > self.repeats or self.results.repeated >= REPEATS_IN_ALL:
                break
            self.results.repeated += 1
        noise, report = min(turns, key=lambda turn: (not turn[0].quiet, turn[0].steal, turn[0].others))
        self.results.turns += 1
        if not noise.quiet:
            self.results.disturbed.append(f"{case.name}, {contestant.name}, pair {pair + 1}, {report['mode']} loop: {noise}")
        self.results.add(case.name, contestant.name, pair, report)
        return report
