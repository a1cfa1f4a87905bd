"""What the gateway and the simulator saw of a client, since one looked last."""

from __future__ import annotations

import dataclasses
import json
import time
import urllib.request
from typing import Any, Optional

from stack import Stack


@dataclasses.dataclass(frozen=True)
class Request:
    """One that a source got."""

    #: The simulator's listener.
    source: str
    #: Without its query.
    path: str
    agent: str
    headers: str
    #: None if it is longer than the simulator keeps.
    body: Optional[str]


class Traffic:
    """The simulator's journal and the gateway's ledger, from now on."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._last = max((entry["id"] for entry in self._journal()), default=0)
        self._lines = len(self._ledger())

    def requests(self) -> list[Request]:
        """What the sources got."""
        return [_request(entry) for entry in self._journal() if entry["id"] > self._last]

    def records(self) -> list[dict[str, Any]]:
        """The ledger's lines, once no more come: Envoy writes them five times a second."""
        seen, lines = -1, self._ledger()
        while len(lines) != seen:
            time.sleep(1.0)
            seen, lines = len(lines), self._ledger()
        # A WebSocket is refused by Envoy itself, and leaves a line without any of our members.
        records = [json.loads(line) for line in lines[self._lines :]]
        return [record for record in records if record.get("trilane.outcome")]

    def _journal(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self._stack.sim_url}/_sim/requests?last=500", timeout=10) as answer:
            entries: list[dict[str, Any]] = json.load(answer)
        return entries

    def _ledger(self) -> list[str]:
        text = self._stack.access_log.read_text(encoding="utf-8")
        return [line for line in text[: text.rfind("\n") + 1].splitlines() if line.startswith("{")]


def _request(entry: dict[str, Any]) -> Request:
    headers = {name: str(value) for name, value in entry["headers"]}
    path = entry["path"].split("?")[0]
    return Request(entry["listener"], path, headers.get("user-agent", ""), str(headers), entry["body"])
