"""Whether the gateway came through something unharmed: the same VMs, and every worker still answers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from e2e.ledger_reader import Ledger
from e2e.raw import Http1
from e2e.support import bearer
from stack import Stack

#: What Envoy and the filter's VM write when the filter dies.
DEATHS = re.compile(r"panicked|unreachable|proc_exit|wasm.*(?:crash|fail|terminat)|assert failure|Caught Signal", re.I)


def stats(stack: Stack, pattern: str) -> dict[str, int]:
    """Envoy's counters and gauges whose names match."""
    with Http1(stack.admin_url) as client:
        answer = client.request("GET", f"/stats?filter={quote(pattern)}")
    assert answer.status == 200 and answer.complete, answer
    pairs = (line.rsplit(": ", 1) for line in answer.body.decode().splitlines() if ": " in line)
    return {name: int(value) for name, value in pairs if value.isdigit()}


def counters(stack: Stack, ledger: Ledger, pattern: str) -> dict[str, int]:
    """The filter's counters whose names match, once every request that has a line is in them: it writes them every second."""
    deadline = time.monotonic() + 20
    while True:
        counted = sum(stats(stack, r"trilane_requests_total").values())
        lines = sum("trilane.outcome" in record for record in ledger.now())
        if counted == lines:
            return stats(stack, pattern)
        assert time.monotonic() < deadline, f"{counted} of {lines} requests are counted"
        time.sleep(0.05)


def machines(stack: Stack) -> dict[str, int]:
    """How often VMs were made, and made again. A dead one is replaced when its worker's next request comes."""
    counts = stats(stack, r"^wasm\..*(vm_reload|\.created$)")
    assert "wasm.trilane.vm_reload" in counts, counts
    return counts


def reloads(stack: Stack) -> dict[str, int]:
    """How often dead VMs were made again. Those of the judge are made and go with the groups of several accounts."""
    return {name: count for name, count in machines(stack).items() if count and "vm_reload" in name}


@contextmanager
def unharmed(stack: Stack) -> Iterator[None]:
    """Fails if what happens inside costs a VM, or if a worker does not answer afterwards."""
    logged = stack.envoy_log.stat().st_size
    before = reloads(stack)
    yield
    every_worker_answers(stack)
    assert reloads(stack) == before
    with stack.envoy_log.open("rb") as log:
        log.seek(logged)
        found = DEATHS.search(log.read().decode(errors="replace"))
    assert not found, f"Envoy's log says {found and found.group()!r}"


def answers(stack: Stack, times: int = 1) -> None:
    """Requests on new connections are answered. A VM that died would answer 503."""
    for count in range(1, times + 1):
        with Http1(stack.base_url) as client:
            answer = client.request("GET", "/v1/models", list(bearer("key_a").items()))
        assert answer.status == 200, f"request {count} afterwards: {answer.status} {answer.body!r}"


def every_worker_answers(stack: Stack, most: int = 200) -> None:
    """Asks on new connections until each worker has taken two: the kernel decides who takes which."""
    port = stack.base_url.rpartition(":")[2]
    accepted = rf"^listener\.127\.0\.0\.1_{port}\.worker_\d+\.downstream_cx_total$"
    before = stats(stack, accepted)
    assert len(before) >= 2, f"two workers: {before}"
    for _ in range(most // 6):
        answers(stack, 6)
        now = stats(stack, accepted)
        if all(now[worker] >= before[worker] + 2 for worker in before):
            return
    raise AssertionError(f"not every worker has taken a connection: {before}")
