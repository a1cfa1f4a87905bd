"""Many keys from a feed (of a console, by its agent): how long the first reading takes, what a key costs in memory and in
time, and how soon a change is in force. What the first reading does to requests is `keys_reading`'s.
"""

from __future__ import annotations

import http.client
import statistics
import sys
import time
from contextlib import ExitStack

import keys_reading
from cases import Case, keys_case
from contestants import FEW, GROUP, key
from house import House
from keys_served import OTHER_GROUP, Database, Fed, served
from results import Table
from stack import StackError

#: In the short form, beside few.
SHORT_KEYS = 20_000
#: How many keys change at once.
CHANGED = 1_000
#: Changes that are timed, there and back.
CHANGES = 5

COLUMNS = ["keys", "first reading s", "bytes a key", f"change of {CHANGED} s"]
NOTE = (
    "First reading: from the moment the document that names the feed is there. The bytes are resident memory over that of"
    f" {FEW} keys. A change: from the commit in the database until the last key is in force; the loader looks twice a second."
)


def feed_case() -> Case:
    """What finding a key costs: a different one each time."""
    return keys_case()._replace(name="keys_feed", title="1 KB, model first, by number of keys from a feed", latency=False)


def run(house: House) -> None:
    """Every figure, for each number of keys; few are what the others are compared with."""
    if not house.wanted(feed_case().name):
        return
    numbers = (FEW, SHORT_KEYS) if house.options.short else (FEW, *house.options.keys)
    rows: list[list[object]] = []
    with ExitStack() as running:
        crowd: list[Fed] = []
        for number in numbers:
            serving, database = running.enter_context(served(house.run_dir / f"feed-{number}", number, house.cores))
            fed = _fed(house, number, 0, serving.address)
            fed.start()
            running.callback(fed.stop)
            seconds = _first_reading(fed, timeout=60 + number / 2_000)
            said = f"{fed.title}: read after {seconds:.1f} s"
            print(said, file=sys.stderr, flush=True)
            crowd.append(fed)
            memory = (fed.resident - crowd[0].resident) / (number - numbers[0]) if number > numbers[0] else None
            if number >= SHORT_KEYS:
                # The load's keys are in the document: they are good before and after.
                with _fed(house, number, FEW, serving.address, name="watched") as watched:
                    watched.keys = FEW
                    keys_reading.watch(house, watched, serving, number)
            changes = _changes(house, fed, database) if number >= 10 * CHANGED else []
            rows.append([number, seconds, memory, statistics.median(changes) if changes else None])
        house.rounds.warm([keys_case()], list(crowd))
        house.rounds.case(feed_case(), list(crowd), crowd[0].name)
        for fed in crowd:
            house.results.memory[fed.name] = fed.resident
    house.results.tables["keys_feed"] = Table("Keys from a feed", COLUMNS, rows, NOTE)


def _fed(house: House, number: int, own: int, feed: str, name: str = "fed") -> Fed:
    title = "trilane, " + f"{number:,}".replace(",", " ") + " keys by feed"
    return Fed(f"{name}-{number}", title, house.run_dir, house.source, house.cores, number, own, feed)


def _first_reading(fed: Fed, timeout: float) -> float:
    """How long until the last key of the feed is known."""
    began = time.monotonic()
    fed.name_feed()
    _wait(fed, key(fed.keys - 1), 200, timeout)
    return time.monotonic() - began


def _wait(fed: Fed, value: str, status: int, timeout: float) -> None:
    """Asks every few milliseconds, with as little work as can be: the gateway has only one core."""
    host, _, port = fed.address.partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    deadline = time.monotonic() + timeout
    try:
        while True:
            connection.request("GET", "/v1/models", headers={"authorization": f"Bearer {value}"})
            answer = connection.getresponse()
            answer.read()
            if answer.status == status:
                return
            if time.monotonic() > deadline:
                raise StackError(f"{fed.title}: after {timeout:.0f} s {value} still gets {answer.status}")
            time.sleep(0.005)
    finally:
        connection.close()


def _changes(house: House, fed: Fed, database: Database) -> list[float]:
    """How long each of some changes takes, from the commit until the last of its keys is in force."""
    numbers = list(range(0, fed.keys, fed.keys // CHANGED))[:CHANGED]
    took = []
    for turn in range(2 if house.options.short else 2 * CHANGES):
        moved = turn % 2 == 0
        database.move(numbers, OTHER_GROUP if moved else GROUP)
        began = time.monotonic()
        _wait(fed, key(numbers[-1]), 401 if moved else 200, 30)
        took.append(time.monotonic() - began)
        # Never at the same time of the loader's tick.
        time.sleep(0.13)
    return took
