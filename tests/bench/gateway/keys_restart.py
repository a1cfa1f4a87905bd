"""How soon a gateway that starts anew serves many keys of a feed: until then it refuses those that it does not know yet."""

from __future__ import annotations

import statistics
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contestants import key
from house import House, ask
from keys_served import Fed, served
from results import Table
from stack import StackError

#: The name of the table, and of the case on the command line.
NAME = "keys_restart"
#: How often it is started, and how many keys the short form has.
STARTS, SHORT_KEYS = 3, 20_000
#: How often the thread that reads the keys is asked for something else, in seconds.
EVERY = 0.01

COLUMNS = ["keys", "s", "quickest s", "slowest s", "CPU s of Envoy", "CPU s of the agent", "longest wait ms"]
NOTE = (
    "From the start of Envoy until `/healthz` is 200, when all keys of the feed are known: medians, with the processor time that this"
    " took. The longest wait is that of a request to Envoy's admin interface, asked a hundred times a second: it is answered by the"
    " thread that reads the keys."
)


def run(house: House) -> None:
    """Starts a gateway before the greatest number of keys, some times."""
    if not house.wanted(NAME):
        return
    number = SHORT_KEYS if house.options.short else max(house.options.keys)
    with served(house.run_dir / f"feed-{number}", number, house.cores, after_load=False) as (serving, _):
        fed = Fed("restarted", "trilane that starts anew", house.run_dir, house.source, house.cores, number, 0, serving.address, named=True)
        try:
            # The first start waits until the agent has all keys of its console, too.
            fed.start(timeout=120 + number / 1_000)
            rows = [_start(fed, serving.pid, number) for _ in range(1 if house.options.short else STARTS)]
        finally:
            fed.stop()
    took = [row[0] for row in rows]
    house.results.tables[NAME] = Table(
        "A gateway that starts anew",
        COLUMNS,
        [[number, statistics.median(took), min(took), max(took), *(statistics.median(of) for of in list(zip(*rows))[1:])]],
        NOTE,
    )


def _start(fed: Fed, agent: int, number: int) -> list[float]:
    """One start: seconds, CPU seconds of both, milliseconds of the longest wait."""
    fed.kill_envoy()
    before, began = _cpu(agent), time.monotonic()
    with _asked(fed) as waits:
        fed.restart_envoy(timeout=120 + number / 1_000)
        took = time.monotonic() - began
    cpu = [_cpu(fed.pid), _cpu(agent) - before]
    for last in (0, number - 1):
        status, _ = ask(fed, "/v1/models", key(last))
        if status != 200:
            raise StackError(f"{fed.title}: it is ready, and key {last} gets {status}")
    print(f"{fed.title}: {number} keys after {took:.1f} s", file=sys.stderr, flush=True)
    return [took, *cpu, 1000 * max(waits, default=0.0)]


@contextmanager
def _asked(fed: Fed) -> Iterator[list[float]]:
    """Asks the admin interface all the time, from the gateway's first answer on; gives how long each answer took, in seconds."""
    waits: list[float] = []
    over = threading.Event()

    def ask_again() -> None:
        answers = False
        while not over.wait(EVERY):
            try:
                # Before the gateway answers Envoy compiles the filter.
                answers = answers or ask(fed, "/healthz", "")[0] > 0
                began = time.monotonic()
                with urllib.request.urlopen(f"{fed.admin_url}/ready", timeout=10) as answer:
                    answer.read()
            except OSError:
                continue  # It is not there yet.
            waits.append(time.monotonic() - began)

    asking = threading.Thread(target=ask_again)
    asking.start()
    try:
        yield waits
    finally:
        over.set()
        asking.join()


def _cpu(pid: int) -> float:
    """The processor time of a process, all its threads, in seconds."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
