#!/usr/bin/env python3
"""How long changes of keys take to the agents: a thousand at once, with 1, 3 and 10 agents.

    PYTHONPATH=envoy:tests/runner:tests target/venv/bin/python tests/bench/console/changes.py [--short]

A change is at an agent when the copy is in which it serves its Envoy's feed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from e2e.console.running import Console
from e2e.crash import fleet
from stack import SAMPLE_DOCUMENT

CHANGES = 1000
LATEST = 60.0


def change(database: Path, turn: int) -> float:
    """Adds the keys, and later switches all of them on or off, in one transaction by plain SQL. Returns when it was committed."""
    with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        if turn == 0:
            keys = ((hashlib.sha256(str(n).encode()).hexdigest(), f"bench-{n}") for n in range(CHANGES))
            connection.executemany("INSERT INTO keys (sha256, id, group_id) VALUES (?, ?, 'b-official')", keys)
        else:
            connection.execute("UPDATE keys SET disabled = ? WHERE id LIKE 'bench-%'", (turn % 2,))
    return time.monotonic()


def has_all(copy: Path, turn: int) -> bool:
    with contextlib.closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True, timeout=5)) as connection:
        query = "SELECT count(*) FROM keys WHERE change ->> '$.id' LIKE 'bench-%' AND coalesce(change ->> '$.disabled', 0) = ?"
        (count,) = connection.execute(query, (turn % 2,)).fetchone()
    return bool(count == CHANGES)


def measure(place: Path, agents: int, turns: int) -> list[float]:
    """Seconds until the last agent had all, for each turn."""
    with contextlib.ExitStack() as running:
        console = running.enter_context(Console(place / "console", "--import-document", str(SAMPLE_DOCUMENT)))
        copies = []
        for number in range(agents):
            name = f"edge-{number}"
            token = console.api.post("/envoys", {"id": name})["token"]
            agent = fleet.agent(name, place, console.port, place / f"{name}.jsonl", token)
            running.callback(agent.stop)
            agent.start()
            copies.append(place / name / "keys.db")
        took = []
        for turn in range(turns + 1):
            since = change(place / "console" / "console.db", turn)
            waiting = set(copies)
            while waiting:
                waiting = {copy for copy in waiting if not has_all(copy, turn)}
                assert time.monotonic() - since < LATEST, f"{len(waiting)} agents do not have the changes"
                time.sleep(0.01)
            took.append(time.monotonic() - since)
            time.sleep(0.1 * (turn % 4))
        return took[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="two turns each, to see that it runs")
    options = parser.parse_args()
    for agents in (1, 3, 10):
        with tempfile.TemporaryDirectory() as place:
            took = measure(Path(place), agents, 2 if options.short else 20)
        print(f"{CHANGES} changes to {agents} agents: median {statistics.median(took):.2f} s, the slowest {max(took):.2f} s", flush=True)


if __name__ == "__main__":
    main()
