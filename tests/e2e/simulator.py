"""The simulator of a stack, as somebody who listens in: what it saw of each request."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import httpx
from stack import Stack

#: How long anything may take on a busy machine, in seconds.
PATIENCE = 45.0

Entry = dict[str, Any]


def steering(told: Mapping[str, Any]) -> dict[str, str]:
    """The headers by which a request says what the simulator is to do with it: `delay_ms=20` is `x-sim-delay-ms: 20`."""
    return {f"x-sim-{name.replace('_', '-')}": str(value) for name, value in told.items()}


class Simulator:
    """A client of the simulator's control requests."""

    def __init__(self, stack: Stack) -> None:
        self.http = httpx.Client(base_url=stack.sim_url, timeout=20.0, trust_env=False)

    def close(self) -> None:
        self.http.close()

    def seen(self, marker: str) -> list[Entry]:
        """The journal's entries of the requests with this marker, oldest first: one for each attempt."""
        return self.http.get("/_sim/requests", params={"marker": marker}).json()

    def wait_seen(self, marker: str, *states: str, timeout: float = PATIENCE) -> Entry:
        """The last entry with this marker, once it is in one of these states."""
        deadline = time.monotonic() + timeout
        while True:
            entries = self.seen(marker)
            if entries and entries[-1]["state"] in states:
                return entries[-1]
            assert time.monotonic() < deadline, f"no request {marker} in state {states}: {entries}"
            time.sleep(0.01)

    def totals(self) -> dict[str, Any]:
        """What it got since the last `reset_totals`."""
        return self.http.get("/_sim/totals").json()

    def reset_totals(self) -> None:
        assert self.http.delete("/_sim/totals").status_code == 200
