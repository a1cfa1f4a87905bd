"""Follows a ledger while it is being written."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]

#: The members that Envoy writes; `duration_ms` and the like differ from run to run.
ENVOYS = (
    "timestamp",
    "request_id",
    "http.response.status_code",
    "protocol",
    "flags",
    "details",
    "duration_ms",
    "bytes_received",
    "bytes_sent",
    "upstream",
)

#: A line is flushed within moments after its stream; the rest is for a busy machine.
PATIENCE = 45.0


class Ledger:
    """The lines of one access log, in order, each parsed more strictly than JSON demands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[Record] = []
        self.raw = b""
        self._parsed = 0
        self._of_key: defaultdict[str, list[Record]] = defaultdict(list)
        self._lock = threading.Lock()

    def of_key(self, key: str, count: int = 1) -> list[Record]:
        """The records of a key, once there are `count` (or more, which is wrong as well)."""
        return self.wait(lambda: self._of_key[key], count, f"of the key {key}")

    def find(self, wanted: Record, count: int = 1) -> list[Record]:
        """The records with these members, once there are `count`."""

        def found() -> list[Record]:
            return [record for record in self.records if wanted.items() <= _plain(record).items()]

        return self.wait(found, count, f"with {wanted}")

    def wait(self, look: Callable[[], list[Record]], count: int, what: str) -> list[Record]:
        deadline = time.monotonic() + PATIENCE
        while True:
            with self._lock:
                self._read()
                found = list(look())
            if len(found) >= count:
                return found
            assert time.monotonic() < deadline, f"{len(found)} of {count} records {what}; {len(self.records)} in all"
            time.sleep(0.005)

    def now(self) -> list[Record]:
        """All that is in the file."""
        with self._lock:
            self._read()
            return list(self.records)

    def settle(self, count: int) -> list[Record]:
        """All records, once there are `count` and no flush brings more."""
        self.wait(lambda: self.records, count, "in all")
        time.sleep(0.3)  # Many flushes: what is to be seen is that nothing comes.
        return self.now()

    def _read(self) -> None:
        with self.path.open("rb") as file:
            file.seek(len(self.raw))
            self.raw += file.read()
        end = self.raw.rfind(b"\n") + 1
        for line in self.raw[self._parsed : end].splitlines():
            record = parse(line)
            self.records.append(record)
            self._of_key[record.get("trilane.key.id", "")].append(record)
        self._parsed = end


def parse(line: bytes) -> Record:
    """One line: an object, each member once, no number but integers."""
    try:
        record = json.loads(
            line.decode("utf-8"), object_pairs_hook=_once, parse_float=_refuse, parse_constant=_refuse
        )
    except (ValueError, UnicodeDecodeError) as error:
        raise AssertionError(f"a broken line: {error}: {line[:2000]!r}") from error
    assert isinstance(record, dict), f"no object: {line[:200]!r}"
    return record


def members(record: Record) -> Record:
    """The filter's part of a record."""
    return {name: value for name, value in record.items() if name not in ENVOYS}


def _plain(record: Record) -> Record:
    return {name: value for name, value in record.items() if not isinstance(value, (dict, list))}


def _once(pairs: list[tuple[str, Any]]) -> Record:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a member twice: {[name for name, _ in pairs]}")
    return found


def _refuse(text: str) -> Any:
    raise ValueError(f"a number that is no integer: {text}")
