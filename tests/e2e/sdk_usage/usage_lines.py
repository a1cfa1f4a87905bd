"""The ledger's lines of some requests, awaited together: Envoy writes them out every 200 ms."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterable, Mapping

#: How long a line may take, in seconds.
PATIENCE = 45.0

Line = dict[str, Any]


class Lines:
    """Follows a ledger file from where it ends now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.stat().st_size if path.exists() else 0
        self._lines: dict[str, list[Line]] = defaultdict(list)

    def of(self, request_ids: Iterable[str]) -> dict[str, Line]:
        """The line of each request, by the gateway's own id of it. There must be exactly one."""
        wanted = set(request_ids)
        deadline = time.monotonic() + PATIENCE
        while missing := [each for each in wanted if each not in self._lines]:
            assert time.monotonic() < deadline, f"no line in {self._path} for {missing[:5]} ({len(missing)} of all)"
            time.sleep(0.02)
            self._read()
        doubled = {each: self._lines[each] for each in wanted if len(self._lines[each]) != 1}
        assert not doubled, f"several lines of one request: {doubled}"
        return {each: self._lines[each][0] for each in wanted}

    def of_key(self, key: str, number: int) -> list[Line]:
        """The lines of all requests of a key, of which there must be so many."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = [line for lines in self._lines.values() for line in lines if line.get("trilane.key.id") == key]
            if len(found) >= number:
                assert len(found) == number, f"{len(found)} lines of {key}, not {number}"
                return found
            assert time.monotonic() < deadline, f"{len(found)} lines of {key} in {self._path}, not {number}"
            time.sleep(0.02)
            self._read()

    def _read(self) -> None:
        with self._path.open("rb") as file:
            file.seek(self._at)
            text = file.read()
        whole, newline, _ = text.rpartition(b"\n")
        self._at += len(whole) + len(newline)
        for written in whole.splitlines():
            line = json.loads(written)
            self._lines[line["request_id"]].append(line)


def judge(where: str, line: Mapping[str, Any], want: Mapping[str, Any]) -> None:
    """Each member is as wanted; `None`: it is not there."""
    __tracebackhide__ = True
    wrong = {name: (line.get(name), value) for name, value in want.items() if line.get(name) != value}
    assert not wrong, f"{where}: (got, wanted): {wrong}\n{json.dumps(line, indent=1)}"


def flat(usage: Any, prefix: str = "") -> dict[str, int]:
    """The numbers of an SDK's usage object by their path, as `trilane.usage.reported` has them; no zeros, no lists."""
    found: dict[str, int] = {}
    for name, value in (usage or {}).items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{name}."))
        elif isinstance(value, int) and not isinstance(value, bool) and value:
            found[prefix + name] = value
    return found
