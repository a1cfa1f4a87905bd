"""What requests feel of a gateway that reads a million keys: short turns, in every other of which the feed stands still."""

from __future__ import annotations

import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple, Optional

from cases import keys_case
from house import House
from keys_served import Fed
from results import Table, spread
from rounds import AGAIN, OPEN_CONNECTIONS, SHARE
from serving import Serving
from stack import StackError

#: Of every turn, in seconds: until a page that was under way is there, and connections are made.
SETTLE, WARM_UP = 0.05, 0.1
#: Changes of the page that was under way when the feed was stopped: a machine that stands still may bring it later.
UNDER_WAY = 100
#: Keys of the feed that the gateway knows, and changes that it has taken.
KNOWN, TAKEN = r"trilane_keys_feed_keys$", r"trilane_keys_feed_changes_total$"

COLUMNS = ["keys", "pairs", "p99 still µs", "p99 reading µs", "×", "middle half", "slowest still ms", "slowest reading ms"]
NOTE = (
    "Pairs of turns while a gateway reads its keys for the first time: one in which the feed stands still, one in which it"
    " gives pages. × is the median of the ratios within each pair; the slowest are those of all turns."
)


class Turn(NamedTuple):
    """What the requests of one turn took."""

    p99_us: float
    max_us: float


class Pair(NamedTuple):
    """The feed stood still, and it was read."""

    still: Turn
    reading: Turn


def watch(house: House, fed: Fed, feed: Serving, number: int) -> None:
    """Measures `fed`, which knows the load's keys and is about to read so many."""
    seconds = 0.2 if house.options.short else 1.0
    call = keys_case().call
    house.rounds.warm([keys_case()], [fed])
    closed = house.drive(fed, call, connections=16, seconds=house.options.seconds, warmup=0)
    rate = SHARE * closed["per_second"]

    def turn(still: bool) -> Optional[Turn]:
        """`None` if the reading was over before the turn was."""
        with _still(feed) if still else nullcontext():
            time.sleep(SETTLE)
            # A turn of reading in which the machine stood still, and nothing was read, is run again.
            for _ in range(AGAIN):
                before = fed.stat(TAKEN)
                report = house.drive(fed, call, connections=OPEN_CONNECTIONS, seconds=seconds, warmup=WARM_UP, rate=rate)
                taken = fed.stat(TAKEN) - before
                if report["failed"]:
                    house.results.failures.append(f"keys_feed, {number} keys, while they were read: {report['failures']}")
                if still or taken or fed.stat(KNOWN) >= number:
                    break
        if still and taken > UNDER_WAY:
            raise StackError(f"{fed.title}: {taken} changes were taken while the feed stood still")
        if not still and fed.stat(KNOWN) >= number:
            return None
        if not still and not taken:
            raise StackError(f"{fed.title}: nothing was read in {AGAIN} turns, with {fed.stat(KNOWN)} of {number} keys known")
        latency = report["latency_us"]
        return Turn(float(latency["p99"]), float(latency["max"]))

    fed.name_feed()
    _first_page(fed)
    pairs: list[Pair] = []
    while True:
        # There and back again: what the machine becomes slower by meanwhile concerns both.
        order = (True, False) if len(pairs) % 2 == 0 else (False, True)
        turns = {still: turn(still) for still in order}
        still, reading = turns[True], turns[False]
        if not still or not reading:
            break
        pairs.append(Pair(still, reading))
        said = f"{fed.title}: {fed.stat(KNOWN)} known; p99 {still.p99_us:.0f} µs, reading {reading.p99_us:.0f} µs"
        print(said, file=sys.stderr, flush=True)
    if not pairs:
        house.results.not_measured.append(
            {"what": f"{number} keys, requests while they are read", "why": "the reading was over before the load"}
        )
        return
    table = house.results.tables.setdefault("keys_reading", Table("Requests while keys are read", COLUMNS, [], NOTE))
    table.rows.append([number, len(pairs), *_row(pairs)])


def _row(pairs: list[Pair]) -> Iterator[object]:
    ratio = spread([pair.reading.p99_us / pair.still.p99_us for pair in pairs])
    yield statistics.median(pair.still.p99_us for pair in pairs)
    yield statistics.median(pair.reading.p99_us for pair in pairs)
    yield ratio["median"]
    yield f"{ratio['q1']:.2f}–{ratio['q3']:.2f}"
    yield max(pair.still.max_us for pair in pairs) / 1000
    yield max(pair.reading.max_us for pair in pairs) / 1000


def _first_page(fed: Fed) -> None:
    deadline = time.monotonic() + 30
    while not fed.stat(TAKEN):
        if time.monotonic() > deadline:
            raise StackError(f"{fed.title}: no page of the feed was read in 30 s")
        time.sleep(0.01)


@contextmanager
def _still(feed: Serving) -> Iterator[None]:
    """The service does not run: whoever asks it waits, for less than would be an error."""
    os.kill(feed.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(feed.pid, signal.SIGCONT)
