"""A console with a million keys that another program has added, all of them in the index of the search."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from e2e.browser.chromium import ROOT
from e2e.browser.seeded import SeededConsole
from e2e.console.running import Console
from waiting import until

COUNT = 1_000_000
#: How long the index may take on a busy machine, in seconds.
PATIENCE = 3600.0
#: Label n, of an owner in a thousand and a group in fifty.
ADD = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
INSERT INTO keys (sha256, id, group_id, owner, label, hint)
SELECT printf('%064x', n), 'key_' || n, iif(n % 50 = 0, 'b-official', 'mixed'), 'owner-' || (n % 1000), 'label ' || n, printf('%04d', n % 10000)
FROM numbers
"""
#: The only one that has expired. In the order of ids, more than 20 000 keys come before it.
EXPIRED = 120_000


def in_order() -> list[str]:
    """The labels of all keys as lists have them: in the order of their ids."""
    return [f"label {number}" for number in sorted(map(str, range(1, COUNT + 1)))]


def add_keys(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(ADD, (COUNT,))
        connection.execute("UPDATE keys SET expires_at = '2026-01-01T00:00:00Z' WHERE id = ?", (f"key_{EXPIRED}",))


def wait_for_index(database: Path) -> None:
    """Until none is due, and the index has them all."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:

        def one(sql: str) -> int:
            return int(connection.execute(sql).fetchone()[0])

        def has_all() -> bool:
            # Who asks all the time slows down what is waited for.
            time.sleep(1)
            return one("SELECT NOT EXISTS (SELECT 1 FROM key_search_due)") == 1

        until(has_all, PATIENCE, says=lambda: f"{one('SELECT count(*) FROM key_search_due')} keys are due")
        # Those of the sample, which the import gave to the console, are in it, too.
        assert one("SELECT count(*) FROM key_search") == one("SELECT count(*) FROM keys") > COUNT


@contextmanager
def million(place: Path) -> Iterator[SeededConsole]:
    document = ROOT / "envoy" / "gateway.json"
    database = place / "db" / "console.db"
    with Console(place / "db", "--import-document", str(document)) as console:
        # As if it had been added by night: the console then meets it all at once.
        console.stop()
        add_keys(database)
        console.start()
        wait_for_index(database)
        yield SeededConsole(console)
