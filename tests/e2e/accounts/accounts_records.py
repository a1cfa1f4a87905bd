"""The ledger's lines of a stack with accounts."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]

#: A line is written within moments; the rest is for a busy machine.
PATIENCE = 45.0


class Records:
    """Follows a ledger while it is written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._half = b""
        self.all: list[Record] = []
        self._of_id: defaultdict[str, list[Record]] = defaultdict(list)
        self._of_key: defaultdict[str, list[Record]] = defaultdict(list)
        self._lock = threading.Lock()

    def of(self, request_id: str) -> Record:
        """The record of the request that was answered with this id, the upstream's or ours. There is just one."""
        return self._one(lambda: self._of_id[request_id], f"of request {request_id}")

    def of_key(self, key: str, outcome: str = "") -> Record:
        """The only record of a key, or the only one with this outcome."""

        def found() -> list[Record]:
            return [record for record in self._of_key[key] if outcome in ("", record["trilane.outcome"])]

        return self._one(found, f"of key {key} {outcome}")

    def _one(self, look: Callable[[], list[Record]], what: str) -> Record:
        deadline = time.monotonic() + PATIENCE
        while True:
            with self._lock:
                self.read()
                found = look()
            if found:
                assert len(found) == 1, f"{len(found)} records {what}: {found}"
                return found[0]
            assert time.monotonic() < deadline, f"no record {what} among {len(self.all)}"
            time.sleep(0.01)

    def read(self) -> None:
        """Takes in what is there by now."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            new = file.read()
        self._at += len(new)
        *lines, self._half = (self._half + new).split(b"\n")
        for line in lines:
            record = json.loads(line)
            self.all.append(record)
            self._of_key[record.get("trilane.key.id", "")].append(record)
            for name in ("request_id", "trilane.upstream_request_id"):
                if name in record:
                    self._of_id[record[name]].append(record)


def kinds(record: Record) -> list[tuple[str, str]]:
    """The failed tries of a record: account and kind."""
    return [(failed["account"], failed["kind"]) for failed in record.get("trilane.tries.failed", [])]
