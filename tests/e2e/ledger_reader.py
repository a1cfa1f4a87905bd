"""Follows a ledger while it is being written, and finds the records of a request or a key."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
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
        self._of_id: defaultdict[str, list[Record]] = defaultdict(list)
        self._lock = threading.Lock()

    def skip(self) -> Ledger:
        """Looks at nothing that is in the file now."""
        self.raw = self.path.read_bytes() if self.path.exists() else b""
        self._parsed = len(self.raw)
        return self

    def of_request(self, request_id: str) -> Record:
        """The only record of the request that was answered with this id, the upstream's or ours."""
        return self.of_requests([request_id])[request_id]

    def of_requests(self, request_ids: Iterable[str]) -> dict[str, Record]:
        """The only record of each request, by id."""
        return {each: _only(self.wait(lambda: self._of_id[each], 1, f"of request {each}")) for each in set(request_ids)}

    def only(self, key: str, outcome: str = "") -> Record:
        """The only record of a key, or the only one with this outcome."""

        def found() -> list[Record]:
            return [record for record in self._of_key[key] if outcome in ("", record["trilane.outcome"])]

        return _only(self.wait(found, 1, f"of the key {key} {outcome}"))

    def of_key(self, key: str, count: int = 1) -> list[Record]:
        """The records of a key, once there are `count` (or more, which is wrong as well)."""
        return self.wait(lambda: self._of_key[key], count, f"of the key {key}")

    def find(self, wanted: Record, count: int = 1) -> list[Record]:
        """The records with these members, once there are `count`."""

        def found() -> list[Record]:
            return [record for record in self.records if wanted.items() <= record.items()]

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
            for identity in {record[name] for name in ("request_id", "trilane.upstream_request_id") if name in record}:
                self._of_id[identity].append(record)
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


def kinds(record: Record) -> list[tuple[str, str]]:
    """The failed attempts of a record: account and kind."""
    return [(failed["account"], failed["kind"]) for failed in record.get("trilane.tries.failed", [])]


def members(record: Record) -> Record:
    """The filter's part of a record."""
    return {name: value for name, value in record.items() if name not in ENVOYS}


def _only(records: list[Record]) -> Record:
    assert len(records) == 1, f"{len(records)} records of one request: {records}"
    return records[0]


def _once(pairs: list[tuple[str, Any]]) -> Record:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a member twice: {[name for name, _ in pairs]}")
    return found


def _refuse(text: str) -> Any:
    raise ValueError(f"a number that is no integer: {text}")
