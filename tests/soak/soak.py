#!/usr/bin/env python3
"""Every ending there is, mixed at load on a real Envoy; then the books are balanced to the unit.

Clients on HTTP/1.1 and HTTP/2 send what a seed draws (`plans.py`) while documents are swapped and the ledger is
rotated. Each request is joined with its record and with the upstream's journal (`books.py`) and judged (`rules.py`).
In the end the sums must agree on all sides: clients, upstream, ledger, metrics. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import sys
import time
from pathlib import Path

import stack as stacks
from soaking.books import Books
from soaking.accounts import write_credentials
from soaking.documents import ACCOUNTS, VERSIONS, document
from soaking.h1 import Http1
from soaking.h2c import Http2
from soaking.limits import SLOTS
from soaking.metrics import Metrics, reloads, resident, scrape
from soaking.plans import Planner
from soaking.result import Result
from soaking.seen import Seen
from soaking.shapes import Plan
from soaking.sources import Journal, Ledger, get

#: Clients that share one HTTP/2 connection.
SHARED = 4
#: One document holds for so long, in seconds.
SWAP = 3.0
#: Where nothing may move any more, in seconds. A stalled source is given up after it.
IDLE = 5


class Soak:
    """One run."""

    def __init__(self, stack: stacks.Stack, seed: int, clients: int, seconds: float) -> None:
        self.stack = stack
        self.seed = seed
        self.clients = clients
        self.seconds = seconds
        self.versions: list[tuple[float, int]] = [(time.time(), 0)]
        self.books = Books(self.versions)
        self.ledger = Ledger(stack.access_log)
        self.journal = Journal(stack.sim_url)
        port = int(stack.base_url.rpartition(":")[2])
        shared = [Http2(port) for _ in range(max(1, clients * 2 // 5 // SHARED))]
        self.transports = [Http1(port) for _ in range(clients - SHARED * len(shared))] + [
            transport for transport in shared for _ in range(SHARED)
        ]
        self.until = 0.0
        self.in_flight = 0
        self.memory: list[float] = []
        self.metrics: Metrics = {}
        #: When the clients began nothing new, by the clock of `versions`.
        self.loaded_until = 0.0
        self.died: list[str] = []

    async def run(self) -> None:
        """Load, then quiet, then the last entries."""
        await self._begin()
        machines = await reloads(self.stack.admin_url)
        began = time.monotonic()
        self.until = began + self.seconds
        self.loaded_until = time.time() + self.seconds
        helpers = [asyncio.ensure_future(job()) for job in (self._read, self._swap, self._rotate, self._tell)]
        for helper in helpers:
            helper.add_done_callback(self._ended)
        clients = [self._client(number, transport) for number, transport in enumerate(self.transports)]
        try:
            await asyncio.gather(*clients)
            await self._quiet()
            await self._slots()
            await self._quiet()
        finally:
            for helper in helpers:
                helper.cancel()
            done = await asyncio.gather(*helpers, return_exceptions=True)
        self.died = [f"{error!r}" for error in done if isinstance(error, Exception)]
        for transport in set(self.transports):
            transport.close()
        self._enter_lines()
        for entry in self.journal.rest():
            self.books.upstream(entry)
            if not entry.stalls:
                self.books.differ(f"not over at the upstream: sim-{entry.number} {entry}")
        self.books.close()
        if self.ledger.rest():
            self.books.differ(f"half a line at the ledger's end: {self.ledger.rest()!r}")
        self.memory.append(resident(self.stack.pids["Envoy"]))
        after = await reloads(self.stack.admin_url)
        if after != machines or not any("vm_reload" in name for name in machines):
            self.books.differ(f"VMs before {machines}, after {after}")

    async def _begin(self) -> None:
        """What waiting for the gateway has left in the ledger and in the metrics."""
        deadline = time.monotonic() + 10
        # Only the last of those requests found a policy in force. Records and metrics are both written a while after their request, so
        # that until its record is there neither may have it.
        ready = False
        while True:
            for line in self.ledger.read():
                self.books.record(line, joined=False)
                ready = ready or b'"http.response.status_code":200' in line
            counted = sum((await scrape(self.stack.admin_url))["requests_total"].values())
            if ready and self.books.before == counted:
                return
            if time.monotonic() > deadline:
                raise stacks.StackError(f"{self.books.before} records of {counted} requests before the first")
            await asyncio.sleep(0.1)

    def _ended(self, helper: asyncio.Future[None]) -> None:
        """Without one of its helpers the run is worth nothing: it ends."""
        if not helper.cancelled() and helper.exception():
            self.until = 0.0
            self.journal.gate.set()

    async def _client(self, number: int, transport: Http1 | Http2) -> None:
        planner = Planner(self.seed, f"c{number}")
        while time.monotonic() < self.until:
            await self.journal.gate.wait()
            await self._exchange(planner.next(), transport)

    async def _exchange(self, plan: Plan, transport: Http1 | Http2) -> None:
        self.books.open(plan)
        self.in_flight += 1
        try:
            seen = await transport.exchange(plan)
        except (OSError, asyncio.TimeoutError) as error:
            seen = Seen(trouble=f"no connection: {error!r}", began=time.time(), ended=time.time())
            await asyncio.sleep(0.1)
        self.in_flight -= 1
        self.books.client(plan, seen)

    async def _slots(self) -> None:
        """Nothing is under way any more: every slot of the keys and groups with few of them is free."""
        planner = Planner(self.seed, "slots")
        plans = [planner.probe(key) for key, slots in SLOTS.items() for _ in range(slots)]
        await asyncio.gather(*map(self._exchange, plans, self.transports))

    # ---- Meanwhile

    def _enter_lines(self) -> None:
        for line in self.ledger.read():
            self.books.record(line)

    async def _read(self) -> None:
        while True:
            for entry in await self.journal.poll():
                self.books.upstream(entry)
            self._enter_lines()
            self.books.sweep()
            await asyncio.sleep(0.4)

    async def _swap(self) -> None:
        while True:
            await asyncio.sleep(SWAP)
            if time.monotonic() < self.until:
                version = (self.versions[-1][1] + 1) % VERSIONS
                # It calls `trilane render`, and the clients do not wait for that.
                at, publish = time.time(), functools.partial(self.stack.publish, document(version))
                await asyncio.get_running_loop().run_in_executor(None, publish)
                self.versions.append((at, version))

    async def _rotate(self) -> None:
        await asyncio.sleep(self.seconds / 2)
        self.ledger.rotate()
        await get(f"{self.stack.admin_url}/reopen_logs", "POST")

    async def _tell(self) -> None:
        last = 0
        while True:
            every = min(5.0, self.seconds / 4)
            await asyncio.sleep(every)
            self.stack.check()
            self.memory.append(resident(self.stack.pids["Envoy"]))
            if time.monotonic() > self.until + every:
                continue
            books = self.books
            print(
                f"{self.seconds - self.until + time.monotonic():5.0f} s  {books.sent:8} sent  "
                f"{(books.sent - last) / every:6.0f}/s  {self.in_flight:3} in flight  "
                f"{books.pending:5} open in the books  "
                f"{books.found} differences  document {self.versions[-1][1]}  {self.memory[-1]:.0f} MiB",
                flush=True,
            )
            last = books.sent

    async def _quiet(self) -> None:
        """Waits until every side has said all it has to say, or for long enough."""
        deadline = time.monotonic() + 20
        previous = None
        while time.monotonic() < deadline:
            self.metrics = await scrape(self.stack.admin_url)
            now = (self.books.tally.lines, self.books.entries, sum(self.metrics["requests_total"].values()))
            whole = self.books.tally.lines >= self.books.sent + self.books.before and not self.journal.open
            if whole and now == previous:
                return
            previous = now
            # The filter writes its counters every second.
            await asyncio.sleep(1.5)


def soak(seconds: float, seed: int, clients: int, run_dir: Path) -> int:
    """Runs it all and says what differs. The exit code."""
    ledger = run_dir / "ledger.jsonl"
    for old in run_dir.glob("ledger*.jsonl"):
        old.unlink()
    credentials = run_dir / "credentials"
    for listed in ACCOUNTS.values():
        write_credentials(credentials, listed)
    idle = (" idle_timeout: 600s", f" idle_timeout: {IDLE}s")  # of every route
    print(f"soak: {seconds:.0f} s, {clients} clients, --seed {seed}, in {run_dir}", flush=True)
    with stacks.Stack(
        run_dir, document=document(0), ledger=ledger, credentials=credentials, extra_substitutions=[idle]
    ) as stack:

        async def whole() -> tuple[Soak, str]:
            # Made in here: older Pythons tie events and locks to the loop that is there when they are made.
            run = Soak(stack, seed, clients, seconds)
            result = Result(run)
            await run.run()
            await result.balance()
            run.ledger.close()
            return run, result.table()

        try:
            run, table = asyncio.run(whole())
        finally:
            stack.check()  # whatever else went wrong: that a process has died says more
    print(table, flush=True)
    if run.books.found:
        print(f"\n{run.books.found} differences (seed {seed}); the first:", file=sys.stderr)
        for text in run.books.differences:
            print(f"- {text}", file=sys.stderr)
        return 1
    print("\nThe books balance.")
    return 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Every ending at load, then the books are balanced.")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long to keep up the load")
    parser.add_argument("--seed", type=int, default=None, help="what to draw; chosen and printed if not given")
    parser.add_argument("--clients", type=int, default=48)
    parser.add_argument("--run-dir", type=Path, default=stacks.TARGET / "soak")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else int(time.time()) % 1_000_000
    try:
        return soak(given.seconds, seed, given.clients, given.run_dir.resolve())
    except stacks.StackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
