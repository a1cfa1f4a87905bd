"""Keys by the million: a console with them, its agent, and gateways that take their keys from there."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from contestants import GROUP, Trilane, document, key
from machine import Cores, pinned
from serving import Serving
from stack import SAMPLE_DOCUMENT, _host_and_port

#: A group whose keys are sent in another form than that of the load: 401 tells that a key was moved there.
OTHER_GROUP = "c-official"

_ADD = "INSERT INTO keys (sha256, id, group_id) VALUES (?, ?, ?)"
_MOVE = "UPDATE keys SET group_id = ? WHERE sha256 = ?"


def digest(number: int) -> str:
    return hashlib.sha256(key(number).encode()).hexdigest()


class Database:
    """The keys from 0 on, in the order of their versions."""

    def __init__(self, file: Path) -> None:
        self._sql = sqlite3.connect(file, timeout=60, isolation_level=None)
        self._sql.execute("PRAGMA synchronous = OFF")
        self._sql.execute("PRAGMA cache_size = -1000000")  # in KiB: a million keys come in no order

    def count(self) -> int:
        return int(self._sql.execute("SELECT count(*) FROM keys").fetchone()[0])

    def add(self, keys: int) -> None:
        self._sql.execute("BEGIN IMMEDIATE")
        self._sql.executemany(_ADD, ((digest(number), f"k{number}", GROUP) for number in range(keys)))
        self._sql.execute("COMMIT")

    def clear(self) -> None:
        self._sql.execute("DELETE FROM keys")

    def move(self, numbers: list[int], group: str) -> None:
        """All at once; the last one's version is the greatest then."""
        self._sql.execute("BEGIN IMMEDIATE")
        self._sql.executemany(_MOVE, ((group, digest(number)) for number in numbers))
        self._sql.execute("COMMIT")

    def close(self) -> None:
        self._sql.close()


@contextmanager
def served(run_dir: Path, keys: int, cores: Cores, *, after_load: bool = True) -> Iterator[tuple[Serving, Database]]:
    """A console with so many keys and its agent, beside the load generator, and `after_load`: always after it.

    To fill one takes a minute for a million keys, so one that a run before has left is taken again.
    """
    run_dir.mkdir(parents=True, exist_ok=True)
    with pinned(cores.load):
        serving = Serving(run_dir, SAMPLE_DOCUMENT).start()
    database = Database(serving.database)
    try:
        # In truth it runs on another machine: it shall not keep the load generator from its clock.
        if after_load:
            os.setpriority(os.PRIO_PROCESS, serving.pid, 19)
        if database.count() != keys:
            database.clear()
            database.add(keys)
        yield serving, database
    finally:
        database.close()
        serving.stop()


class Fed(Trilane):
    """Trilane whose document has few keys or none, and names a feed when it is told to."""

    def __init__(self, name: str, title: str, run_dir: Path, mock: str, cores: Cores, keys: int, own: int, feed: str, *, named: bool = False) -> None:
        """`keys` of the feed at `feed` (host:port), `own` of them in the document as well; `named` from the start."""
        super().__init__(name, title, run_dir, mock, cores, keys)
        self._key_feed = _host_and_port(feed)
        without = json.loads(document(own))
        self._with = json.dumps({**without, "keys_feed": {"cluster": "key_feed", "path": "/keys"}}).encode()
        self._document = self._with if named else document(own)

    def name_feed(self) -> None:
        """From now on the loader reads it."""
        self.publish(self._with)
