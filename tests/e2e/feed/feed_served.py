"""A gateway whose document and keys are served by `trilane serve`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Optional

from e2e.feed.feed_desk import TICK_MS, document, feed_metrics
from e2e.feed.feed_keys import GROUP, digest
from e2e.feed.feed_watch import Watch, Workers
from e2e.loading.variants import PATIENCE, Variant, loader, source_at
from serving import Serving
from stack import Stack
from waiting import until

Rows = Iterable[tuple[str, str, str, Optional[str], bool]]


def row(value: str, group: str = GROUP, expires_at: Optional[str] = None, disabled: bool = False) -> Any:
    name = digest(value)
    return name, f"id_{name[:12]}", group, expires_at, disabled


class Database:
    """What an operator's own program does: plain SQL."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.sql = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)

    def put(self, rows: Rows) -> None:
        self.sql.execute("BEGIN IMMEDIATE")
        self.sql.executemany(
            "INSERT INTO keys (sha256, id, group_id, expires_at, disabled) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (sha256) DO UPDATE SET group_id = excluded.group_id, expires_at = excluded.expires_at,"
            " disabled = excluded.disabled",
            rows,
        )
        self.sql.execute("COMMIT")

    def remove(self, *values: str) -> None:
        self.sql.execute("BEGIN IMMEDIATE")
        self.sql.executemany("DELETE FROM keys WHERE sha256 = ?", [(digest(value),) for value in values])
        self.sql.execute("COMMIT")


def put_file(file: Path, rows: Rows) -> None:
    """The file of keys, replaced whole."""
    names = ("sha256", "id", "group", "expires_at", "disabled")
    part = file.with_suffix(".part")
    with part.open("w") as lines:
        for one in rows:
            fields = {name: value for name, value in zip(names, one) if value}
            lines.write(json.dumps(fields) + "\n")
    part.replace(file)


class Served:
    """`trilane serve`, and a gateway that takes document and keys from it."""

    def __init__(self, run_dir: Path, *where: str, tick_ms: int = TICK_MS) -> None:
        """`where` is the option that names the keys."""
        run_dir.mkdir(parents=True, exist_ok=True)
        self.file = run_dir / "served.json"
        self.file.write_text(json.dumps(document()))
        self.serving = Serving(run_dir, self.file, *where).start()
        source = {"source": {"cluster": "config_source", "path": "/gateway.json"}, "tick_ms": tick_ms}
        port = int(self.serving.address.rpartition(":")[2])
        self.stack: Stack = Variant(
            run_dir, loader(source), source_at(port), document=document(), key_feed=self.serving.address
        )
        self._workers: Optional[Workers] = None

    def __enter__(self) -> Served:
        try:
            self.stack.start()
            self._workers = Workers(self.stack)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._workers:
            self._workers.close()
        self.stack.stop()
        self.serving.stop()

    def publish(self, changed: dict[str, Any]) -> None:
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(changed))
        part.replace(self.file)

    def everywhere(self, value: str) -> set[int]:
        assert self._workers
        return set(self._workers.ask(value).values())

    def wait(self, value: str, status: int, timeout: float = PATIENCE) -> None:
        """Until this is what a key gets on every worker."""
        until(lambda: self.everywhere(value) == {status}, check=self.stack.check, timeout=timeout)

    def metric(self, name: str) -> float:
        return feed_metrics(self.stack).get(name, 0)

    def watch(self, *good: str) -> Watch:
        return Watch(self.stack, *good)
