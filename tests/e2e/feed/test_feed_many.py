"""A hundred thousand keys: a change of a thousand is written as a thousand, everywhere within two ticks."""

from __future__ import annotations

import shutil
import time

from e2e.feed.feed_served import Database, Served, row
from e2e.loading.variants import wait_polls
from e2e.support import run_dir

KEYS = 100_000
CHANGED = 1_000
TICK_MS = 500


def value(number: int) -> str:
    return f"sk-many-{number}"


def test_a_thousand_of_a_hundred_thousand() -> None:
    directory = run_dir("feed-many")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    file = directory.resolve() / "keys.db"
    with Served(directory, "--sqlite", str(file), tick_ms=TICK_MS) as served:
        database = Database(file)
        database.put([row(value(number)) for number in range(KEYS)])
        served.wait(value(KEYS - 1), 200, timeout=60)
        assert served.metric("keys") == KEYS
        # Of all of them: the changed ones are spread over them.
        changed = [value(number) for number in range(0, KEYS, KEYS // CHANGED)]
        others = [value(number) for number in range(1, KEYS, 997) if number % (KEYS // CHANGED)]
        before = served.metric("changes_total")
        with served.watch(*others) as watch:
            began = time.monotonic()
            database.put([row(one, "c-official") for one in changed])
            committed = time.monotonic()
            # The last one of the last page.
            served.wait(changed[-1], 401)
            took = time.monotonic() - began
            assert all(served.everywhere(one) == {401} for one in changed[::50])
            wait_polls(served.stack, 3)  # and nothing else follows
            assert served.metric("changes_total") == before + CHANGED
            assert served.metric("keys") == KEYS
        assert committed - began < 4, "the database is what is slow"
        assert took < 2 * TICK_MS / 1000 + 5, f"{took:.2f} s: two ticks, and some for a machine that has other things to do"
        assert watch.slowest < 5, f"a request waited {watch.slowest:.2f} s"
